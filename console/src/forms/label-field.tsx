import { withVisibleControls } from '../components/text.tsx'
import { TextField } from './text-fields.tsx'

/** In code points, as the service counts. */
const maxLength = 255

/** Line separators, and the characters that change the direction of the text after them (UAX #9). */
const layoutControls = /[\u2028\u2029\u202a-\u202e\u2066-\u2069]/

/** Why the service would reject a label; undefined if it would not. */
function faultOf(text: string): string | undefined {
  const length = [...text.trim()].length
  if (length > maxLength) return `It has ${length} characters; at most ${maxLength} are allowed.`
  return layoutControls.test(text)
    ? `It has characters that change its direction or lines: ${withVisibleControls(text)}`
    : undefined
}

export function LabelField(props: {
  label: string
  description: string
  placeholder?: string
  value: string
  onValue(text: string): void
  autoFocus?: boolean
}) {
  const { autoFocus = false, ...field } = props
  return (
    <TextField
      {...field}
      error={faultOf(props.value)}
      required
      withAsterisk={false}
      miw={220}
      {...(autoFocus && { 'data-autofocus': true })}
    />
  )
}
