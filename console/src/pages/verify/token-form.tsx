import { Button, Card, Group, SimpleGrid, Stack, Textarea, TextInput } from '@mantine/core'
import type { FormEvent } from 'react'
import { CurlHint } from '../../components/curl.tsx'

/** The fields of a token check as typed; without an issuer, the one of the project is expected. */
export type TokenInput = { token: string; audience: string; issuer: string }

export const emptyInput: TokenInput = { token: '', audience: '', issuer: '' }

/** The members of the request that are filled in. */
export function expectations(input: TokenInput): { audience?: string; issuer?: string } {
  const audience = input.audience.trim()
  const issuer = input.issuer.trim()
  return {
    ...(audience === '' ? {} : { audience }),
    ...(issuer === '' ? {} : { issuer }),
  }
}

/** The token, and the expected audience and issuer. */
export function TokenForm(props: {
  projectId: string
  issuer: string | undefined
  input: TokenInput
  loading: boolean
  onInput(input: TokenInput): void
  onSubmit(): void
}) {
  const { input, loading, onInput, onSubmit } = props
  const { token } = input
  const change = (part: Partial<TokenInput>) => onInput({ ...input, ...part })
  function submit(event: FormEvent) {
    event.preventDefault()
    onSubmit()
  }
  return (
    <Card withBorder padding="lg">
      <form onSubmit={submit}>
        <Stack>
          <Textarea
            label="Token"
            description="Sent only to this server, and neither stored nor logged."
            placeholder="eyJhbGciOi…"
            rows={5}
            classNames={{ input: 'mono' }}
            value={token}
            onChange={(event) => change({ token: event.currentTarget.value })}
            spellCheck={false}
            autoComplete="off"
          />
          <Expectations {...props} onChange={change} />
          <Group justify="space-between" align="flex-start">
            <CurlHint
              method="POST"
              path={`/projects/${props.projectId}/token-checks`}
              body={{ token: 'YOUR_TOKEN', ...expectations(input) }}
            />
            <Button type="submit" disabled={token.trim() === ''} loading={loading}>
              Check token
            </Button>
          </Group>
        </Stack>
      </form>
    </Card>
  )
}

function Expectations(props: {
  issuer: string | undefined
  input: TokenInput
  onChange(part: Partial<TokenInput>): void
}) {
  const { issuer, input, onChange } = props
  return (
    <SimpleGrid cols={{ base: 1, sm: 2 }}>
      <TextInput
        label="Expected audience (aud), optional"
        description="If empty, it is not compared."
        value={input.audience}
        onChange={(event) => onChange({ audience: event.currentTarget.value })}
        spellCheck={false}
      />
      <TextInput
        label="Expected issuer (iss), optional"
        description="If empty, the issuer of this project is expected."
        {...(issuer !== undefined && { placeholder: issuer })}
        value={input.issuer}
        onChange={(event) => onChange({ issuer: event.currentTarget.value })}
        spellCheck={false}
      />
    </SimpleGrid>
  )
}
