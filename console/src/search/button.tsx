import { Kbd, Text, UnstyledButton } from '@mantine/core'
import { useHotkeys } from '@mantine/hooks'
import { IconSearch } from '@tabler/icons-react'
import { type Dispatch, type SetStateAction, useEffect, useState } from 'react'
import { lazyPart, usePreload } from '../components/boundary.tsx'
import { ToolButton } from '../components/buttons.tsx'

const SearchPalette = lazyPart(() => import('./palette.tsx'), 'SearchPalette')

/** Opens the search, as `/` and Ctrl+K or ⌘K do on every page. */
export function SearchButton() {
  const [text, setText] = useState<string>()
  usePreload(SearchPalette.load)
  useEarlyTyping(text !== undefined, setText)
  const open = () => {
    // A dialog may have unsent input.
    if (document.querySelector('[role=dialog]') === null) setText((typed = '') => typed)
  }
  useHotkeys([['/', open]])
  useHotkeys([['mod+K', open]], [])
  return (
    <>
      <UnstyledButton
        className="search-button"
        visibleFrom="sm"
        onClick={open}
        aria-keyshortcuts="/ Control+K Meta+K"
      >
        <IconSearch size={16} aria-hidden />
        <Text span c="dimmed" flex={1}>
          Search
        </Text>
        <Kbd size="xs" aria-hidden>
          /
        </Kbd>
      </UnstyledButton>
      <ToolButton Icon={IconSearch} label="Search" hiddenFrom="sm" onClick={open} />
      {text !== undefined && (
        <SearchPalette text={text} onText={setText} onClose={() => setText(undefined)} />
      )}
    </>
  )
}

/** Keeps what is typed until the field of the search has the focus: its code may still be loading. */
function useEarlyTyping(
  isOpen: boolean,
  setText: Dispatch<SetStateAction<string | undefined>>,
): void {
  useEffect(() => {
    if (!isOpen) return
    function keep(event: KeyboardEvent) {
      const { key, target, ctrlKey, metaKey, altKey } = event
      const isTyped = key.length === 1 && !ctrlKey && !metaKey && !altKey
      const isControl = target instanceof Element && target.matches(controls)
      if (event.defaultPrevented || isControl || !(isTyped || key === 'Backspace')) return
      event.preventDefault()
      setText((text = '') => (isTyped ? text + key : text.slice(0, -1)))
    }
    window.addEventListener('keydown', keep)
    return () => window.removeEventListener('keydown', keep)
  }, [isOpen, setText])
}

const controls = 'input, textarea, [role=dialog] button'
