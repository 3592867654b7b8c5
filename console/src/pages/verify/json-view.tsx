import { Text } from '@mantine/core'
import { CopyBlock } from '../../components/copy.tsx'

/** The JSON escape of each UTF-16 unit of a text. */
const escaped = (text: string) =>
  text.replace(/[\s\S]/g, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`)

/** A titled object as indented JSON, in which characters that would reorder or hide text are escaped. */
export function JsonView({ title, value }: { title: string; value: Record<string, unknown> }) {
  const json = JSON.stringify(value, null, 2).replace(/[\u2028\u2029\p{Cf}]/gu, escaped)
  return (
    <div>
      <Text size="sm" fw={600} mb={4}>
        {title}
      </Text>
      <CopyBlock value={json} name={title} />
    </div>
  )
}
