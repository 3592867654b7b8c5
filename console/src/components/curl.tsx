import { Text } from '@mantine/core'
import { type Client, createClient } from '@pubring/client'
import { useEffect, useState } from 'react'
import { url } from '../session/client.ts'
import { CopyBlock } from './copy.tsx'
import { Disclosure } from './disclosure.tsx'
import { shellWord } from './shell.ts'

/** An operation of the API, of one request. */
export type Send<Result = unknown> = (client: Client) => Promise<Result>

/** The request that an operation would send, as a command; '' at first. Nothing is sent. */
export function useCommand(send: Send): string {
  const [command, setCommand] = useState('')
  useEffect(() => void curlCommand(send).then(setCommand))
  return command
}

async function curlCommand(send: Send): Promise<string> {
  const lines: string[] = []
  const record: typeof fetch = async (input, { method = 'GET', body } = {}) => {
    lines.push(`curl${method === 'GET' ? '' : ` -X ${method}`} ${shellWord(String(input))}`)
    lines.push('  -H "X-Api-Key: $PUBRING_API_KEY"')
    if (body) lines.push(`  -H 'Content-Type: application/json'`, `  -d ${shellWord(String(body))}`)
    throw new Error('The request is only shown.')
  }
  await send(createClient({ url, apiKey: 'session', retries: 0, fetch: record })).catch(() => {})
  return lines.join(' \\\n')
}

export function CurlHint({ send }: { send: Send }) {
  const button = (opened: boolean) => (
    <Text c="dimmed" td="underline">
      {opened ? 'Hide curl command' : 'Show curl command'}
    </Text>
  )
  return (
    <div>
      <Disclosure button={button}>
        <Command send={send} />
      </Disclosure>
    </div>
  )
}

function Command({ send }: { send: Send }) {
  const command = useCommand(send)
  return command !== '' && <CopyBlock value={command} name="curl command" />
}
