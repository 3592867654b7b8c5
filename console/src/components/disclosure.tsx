import { Collapse, UnstyledButton, type UnstyledButtonProps } from '@mantine/core'
import { useDisclosure } from '@mantine/hooks'
import { type ReactNode, useId } from 'react'

/** A button and what it shows below it, which is rendered only while it is open. */
export function Disclosure(
  props: UnstyledButtonProps & { button(opened: boolean): ReactNode; children: ReactNode },
) {
  const { button, children, ...look } = props
  const [opened, { toggle }] = useDisclosure(false)
  const id = useId()
  return (
    <>
      <UnstyledButton {...look} onClick={toggle} aria-expanded={opened} aria-controls={id}>
        {button(opened)}
      </UnstyledButton>
      <Collapse id={id} expanded={opened}>
        <div>{opened && children}</div>
      </Collapse>
    </>
  )
}
