import { Modal, type ModalProps } from '@mantine/core'
import { useEffect, useState } from 'react'

/** A dialog that is open while it is rendered. On closing, the focus returns to what opened it. */
export function Dialog(props: Omit<ModalProps, 'opened'>) {
  const [opener] = useState(findOpener)
  useEffect(
    () => () => {
      // After the row of the opener has been removed, and the focus with it.
      setTimeout(() => focusAgain(opener), 0)
    },
    [opener],
  )
  return <Modal opened returnFocus={false} {...props} />
}

/** The focused element; for a menu item, which disappears with its menu, the button of the menu. */
function findOpener(): Element | null {
  const menu = document.activeElement?.closest('[role=menu]')
  const button = menu?.getAttribute('aria-labelledby')
  return button ? document.getElementById(button) : document.activeElement
}

/** Focuses the element or, if it is gone or was none, the heading of the page. */
export function focusAgain(element: Element | null): void {
  if (document.activeElement !== document.body && document.activeElement !== null) return
  const usable = element !== document.body && element?.isConnected === true
  const target = usable ? element : document.querySelector('main h1')
  if (target instanceof HTMLElement) target.focus()
}
