import { Collapse, Text, UnstyledButton } from '@mantine/core'
import { useDisclosure } from '@mantine/hooks'
import { useId } from 'react'
import { useConnection } from '../session/context.tsx'
import { CopyBlock } from './copy.tsx'
import { shellWord } from './shell.ts'

/** An API request; `path` is relative to `/v1`. */
export type ApiRequest = {
  method?: 'GET' | 'POST' | 'PATCH' | 'DELETE'
  path: string
  body?: object
}

/** The request as a curl command that reads the API key from the environment. */
function curlCommand(baseUrl: string, { method = 'GET', path, body }: ApiRequest): string {
  const lines = [`curl${method === 'GET' ? '' : ` -X ${method}`} ${shellWord(baseUrl + path)}`]
  lines.push(`  -H "X-Api-Key: $PUBRING_API_KEY"`)
  if (body !== undefined) {
    lines.push(`  -H 'Content-Type: application/json'`, `  -d ${shellWord(JSON.stringify(body))}`)
  }
  return lines.join(' \\\n')
}

/** Shows the curl command for what the page does. */
export function CurlHint(request: ApiRequest) {
  const { client } = useConnection()
  const [opened, { toggle }] = useDisclosure(false)
  const id = useId()
  return (
    <div>
      <UnstyledButton onClick={toggle} aria-expanded={opened} aria-controls={id}>
        <Text size="sm" c="dimmed" td="underline">
          {opened ? 'Hide curl command' : 'Show curl command'}
        </Text>
      </UnstyledButton>
      <Collapse id={id} expanded={opened}>
        <div>
          {opened && <CopyBlock value={curlCommand(client.url, request)} name="curl command" />}
        </div>
      </Collapse>
    </div>
  )
}
