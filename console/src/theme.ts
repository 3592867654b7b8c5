import { createTheme, type MantineColorsTuple, Menu, Modal } from '@mantine/core'

const mono = 'ui-monospace, SFMono-Regular, Menlo, Consolas, "Liberation Mono", monospace'
const sans =
  'system-ui, -apple-system, "Segoe UI", Roboto, "Helvetica Neue", "Noto Sans", Arial, sans-serif'

/** A blue-green whose used shades have a contrast of 4.5 on light and dark backgrounds. */
const petrol: MantineColorsTuple = [
  '#e6f7fa',
  '#d0eaf0',
  '#a3d4e0',
  '#72bdd0',
  '#4ba9c2',
  '#2f99b6',
  '#1a8aa8',
  '#0b7285',
  '#09606f',
  '#064a57',
]

/**
 * The list itself scrolls (console.css), as assistive technology expects of the popup of a combobox. By
 * name, so that a page without such a field does not load it.
 */
const scrollingList = { defaultProps: { withScrollArea: false } }

export const theme = createTheme({
  primaryColor: 'petrol',
  primaryShade: { light: 7, dark: 7 },
  colors: { petrol },
  fontFamily: sans,
  fontFamilyMonospace: mono,
  headings: { fontFamily: sans, fontWeight: '650' },
  defaultRadius: 'md',
  respectReducedMotion: true,
  cursorType: 'pointer',
  components: {
    Text: { defaultProps: { size: 'sm' } },
    Autocomplete: scrollingList,
    MultiSelect: scrollingList,
    Select: scrollingList,
    Menu: Menu.extend({
      defaultProps: {
        // The placeholder is no item, and so not allowed in a menu (WAI-ARIA 1.2).
        withInitialFocusPlaceholder: false,
        returnFocus: true,
        // A new row may push that of an open menu out of view: hidden, the menu would lose the focus.
        hideDetached: false,
      },
    }),
    Modal: Modal.extend({
      defaultProps: {
        centered: true,
        closeButtonProps: { 'aria-label': 'Close' },
        // It would insert a style sheet, and no page needs it.
        lockScroll: false,
      },
    }),
  },
})
