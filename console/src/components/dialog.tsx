import { Modal, type ModalProps } from '@mantine/core'
import {
  createContext,
  type ReactNode,
  type RefObject,
  useContext,
  useEffect,
  useRef,
  useState,
} from 'react'

/** The element to which the focus returns when a dialog closes. */
type Opener = RefObject<Element | null>

const OpenerContext = createContext<Opener>({ current: null })

/** Remembers what had the focus before a dialog, among `children`. */
export function FocusMemory({ children }: { children: ReactNode }) {
  const opener: Opener = useRef(null)
  return (
    <OpenerContext value={opener}>
      <div
        onFocusCapture={({ target }) => {
          if (target.closest('[role=dialog]') === null) opener.current = openerOf(target)
        }}
      >
        {children}
      </div>
    </OpenerContext>
  )
}

/** For a menu item, which disappears with its menu, the button of the menu. */
function openerOf(focused: Element): Element | null {
  const button = focused.closest('[role=menu]')?.getAttribute('aria-labelledby')
  return button ? document.getElementById(button) : focused
}

/** A dialog that is open while it is rendered. On closing, the focus returns to what opened it. */
export function Dialog(props: Omit<ModalProps, 'opened'>) {
  const memory = useContext(OpenerContext)
  const [opener] = useState(() => memory.current)
  useEffect(
    () => () => {
      // After the row of the opener has been removed, and the focus with it.
      setTimeout(() => focusAgain(opener), 0)
    },
    [opener],
  )
  return <Modal opened returnFocus={false} {...props} />
}

/** Focuses the element or, if it is gone or was none, the heading of the page. */
export function focusAgain(element: Element | null): void {
  if (document.activeElement !== document.body && document.activeElement !== null) return
  const usable = element !== document.body && element?.isConnected === true
  const target = usable ? element : document.querySelector('main h1')
  if (target instanceof HTMLElement) target.focus()
}
