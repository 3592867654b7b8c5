import { Text } from '@mantine/core'
import { useConnection } from '../session/session.tsx'
import { CopyBlock } from './copy.tsx'
import { Disclosure } from './disclosure.tsx'
import { shellWord } from './shell.ts'

/** An API request; `path` is relative to `/v1`. */
export type ApiRequest = {
  method?: 'GET' | 'POST' | 'PATCH' | 'DELETE'
  path: string
  body?: object
}

function curlCommand(baseUrl: string, { method = 'GET', path, body }: ApiRequest): string {
  const lines = [`curl${method === 'GET' ? '' : ` -X ${method}`} ${shellWord(baseUrl + path)}`]
  lines.push(`  -H "X-Api-Key: $PUBRING_API_KEY"`)
  if (body !== undefined) {
    lines.push(`  -H 'Content-Type: application/json'`, `  -d ${shellWord(JSON.stringify(body))}`)
  }
  return lines.join(' \\\n')
}

export function CurlHint(request: ApiRequest) {
  const { client } = useConnection()
  const button = (opened: boolean) => (
    <Text c="dimmed" td="underline">
      {opened ? 'Hide curl command' : 'Show curl command'}
    </Text>
  )
  return (
    <div>
      <Disclosure button={button}>
        <CopyBlock value={curlCommand(client.url, request)} name="curl command" />
      </Disclosure>
    </div>
  )
}
