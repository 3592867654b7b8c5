import { useDebouncedCallback } from '@mantine/hooks'
import { useState } from 'react'
import { currentPath } from '../fragment.ts'
import type { Guarded } from './text-fields.tsx'

/** How long after the last keystroke a text is applied. */
const typingMs = 200

/**
 * The props of a field whose text is in the address of the page. It is applied when the user stops
 * typing: browsers limit how often a page may change its address. A text whose page has been left by
 * then is dropped, as the address would lead back to that page.
 */
export function useTyped({ value, onValue }: Guarded): Guarded {
  const [typed, setTyped] = useState<string>()
  const apply = useDebouncedCallback((text: string, path: string) => {
    if (path === currentPath()) onValue(text)
    setTyped(undefined)
  }, typingMs)
  return {
    value: typed ?? value,
    onValue(text) {
      setTyped(text)
      apply(text, currentPath())
    },
  }
}
