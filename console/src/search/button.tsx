import { ActionIcon, Kbd, Text, UnstyledButton } from '@mantine/core'
import { useHotkeys } from '@mantine/hooks'
import { IconSearch } from '@tabler/icons-react'
import { lazy, useState } from 'react'
import { LazyPart, usePreload } from '../components/lazy.tsx'

const loadPalette = async () => ({ default: (await import('./palette.tsx')).SearchPalette })
const SearchPalette = lazy(loadPalette)

/** Opens the search, as `/` and Ctrl+K or ⌘K do on every page. */
export function SearchButton() {
  const [opened, setOpened] = useState(false)
  usePreload(loadPalette)
  const open = () => {
    // A dialog may have unsent input.
    if (document.querySelector('[role=dialog]') === null) setOpened(true)
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
        <Text span size="sm" c="dimmed" flex={1}>
          Search
        </Text>
        <Kbd size="xs" aria-hidden>
          /
        </Kbd>
      </UnstyledButton>
      <ActionIcon variant="default" size="lg" hiddenFrom="sm" onClick={open} aria-label="Search">
        <IconSearch size={18} />
      </ActionIcon>
      {opened && (
        <LazyPart>
          <SearchPalette onClose={() => setOpened(false)} />
        </LazyPart>
      )}
    </>
  )
}
