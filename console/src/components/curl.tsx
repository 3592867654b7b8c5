import { Collapse, Text, UnstyledButton } from '@mantine/core'
import { useDisclosure } from '@mantine/hooks'
import { useId } from 'react'
import { useSession } from '../session/context.tsx'
import { CopyBlock } from './copy.tsx'

/** A request of the API: `path` from `/v1` on. */
export type ApiRequest = {
  method?: 'GET' | 'POST' | 'PATCH' | 'DELETE'
  path: string
  body?: object
}

/** The same by `curl`; the API key comes from the environment and is not in it. */
function curlOf(base: string, { method = 'GET', path, body }: ApiRequest): string {
  const lines = [`curl${method === 'GET' ? '' : ` -X ${method}`} ${quoted(base + path)}`]
  lines.push(`  -H "X-Api-Key: $PUBRING_API_KEY"`)
  if (body !== undefined) {
    lines.push(`  -H 'Content-Type: application/json'`, `  -d ${quoted(JSON.stringify(body))}`)
  }
  return lines.join(' \\\n')
}

/** One word of a POSIX shell. */
function quoted(text: string): string {
  return `'${text.replaceAll("'", `'\\''`)}'`
}

/** “Do it with curl”: unfolds the command that does what the page does. */
export function CurlHint(request: ApiRequest) {
  const { client } = useSession()
  const [opened, { toggle }] = useDisclosure(false)
  const id = useId()
  return (
    <div>
      <UnstyledButton onClick={toggle} aria-expanded={opened} aria-controls={id}>
        <Text size="sm" c="dimmed" td="underline">
          {opened ? 'Hide curl' : 'The same with curl'}
        </Text>
      </UnstyledButton>
      <Collapse id={id} expanded={opened}>
        <div>{opened && <CopyBlock value={curlOf(client.url, request)} what="curl command" />}</div>
      </Collapse>
    </div>
  )
}
