import { useDebouncedCallback } from '@mantine/hooks'
import { useState } from 'react'
import type { Guarded } from './text-fields.tsx'

/** How long after the last keystroke a text is applied. */
const typingMs = 200

/**
 * The props of a field whose text is in the address of the page. It is applied when the user stops
 * typing: browsers limit how often a page may change its address.
 */
export function useTyped({ value, onValue }: Guarded): Guarded {
  const [typed, setTyped] = useState<string>()
  const apply = useDebouncedCallback((text: string) => {
    onValue(text)
    setTyped(undefined)
  }, typingMs)
  return {
    value: typed ?? value,
    onValue(text) {
      setTyped(text)
      apply(text)
    },
  }
}
