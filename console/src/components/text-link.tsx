import { Anchor, type AnchorProps } from '@mantine/core'
import type { ReactNode } from 'react'
import { Link } from 'wouter'

/** A link to a page of the console, in the size of the text around it. */
export function TextLink(
  props: AnchorProps & { href: string; onClick?(): void; children: ReactNode },
) {
  return <Anchor component={Link} underline="always" inherit {...props} />
}
