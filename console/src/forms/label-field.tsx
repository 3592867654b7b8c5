import { withVisibleControls } from '../components/text.tsx'
import { type Guarded, TextField } from './text-fields.tsx'

/** In code points, as the service counts. */
const maxLength = 255

/** Line separators, and the characters that change the direction of the text after them (UAX #9). */
const layoutControls = /[\u2028\u2029\u202a-\u202e\u2066-\u2069]/

function faultOf(text: string): string | undefined {
  const length = [...text.trim()].length
  if (length > maxLength) return `It has ${length} characters; at most ${maxLength} are allowed.`
  return layoutControls.test(text)
    ? `It has characters that change its direction or lines: ${withVisibleControls(text)}`
    : undefined
}

type LabelFieldProps = {
  label: string
  description: string
  placeholder?: string
  autoFocus?: boolean
}

export const LabelField = ({ autoFocus = false, ...field }: Guarded & LabelFieldProps) => (
  <TextField
    {...field}
    error={faultOf(field.value)}
    required
    withAsterisk={false}
    miw={220}
    {...(autoFocus && { 'data-autofocus': true })}
  />
)
