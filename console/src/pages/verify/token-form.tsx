import { Button, Card, Group, SimpleGrid, Stack, Text } from '@mantine/core'
import type { FormEvent } from 'react'
import { CurlHint } from '../../components/curl.tsx'
import { TextArea, TextField } from '../../forms/text-fields.tsx'

/** The fields of a token check as typed; without an issuer, the one of the project is expected. */
type TokenInput = { token: string; audience: string; issuer: string }

/** The members of the request that are filled in. */
export function expectations(input: TokenInput): { audience?: string; issuer?: string } {
  const audience = input.audience.trim()
  const issuer = input.issuer.trim()
  return { ...(audience === '' ? {} : { audience }), ...(issuer === '' ? {} : { issuer }) }
}

/** The token, and the expected audience and issuer. */
export function TokenForm(props: {
  projectId: string
  issuer: string | undefined
  input: TokenInput
  loading: boolean
  onChange(part: Partial<TokenInput>): void
  onSubmit(): void
}) {
  const { input, loading, onChange, onSubmit } = props
  const { token } = input
  function submit(event: FormEvent) {
    event.preventDefault()
    onSubmit()
  }
  return (
    <Card withBorder padding="lg">
      <form onSubmit={submit}>
        <Stack>
          <TextArea
            label="Token"
            description="Sent only to this server, and neither stored nor logged."
            placeholder="eyJhbGciOi…"
            rows={5}
            classNames={{ input: 'mono' }}
            value={token}
            onValue={(text) => onChange({ token: text })}
          />
          <Expectations {...props} />
          <Group justify="space-between" align="flex-start">
            <CurlHint
              method="POST"
              path={`/projects/${props.projectId}/token-checks`}
              body={{ token: 'YOUR_TOKEN', ...expectations(input) }}
            />
            <Group gap="sm">
              <Text id="token-missing" size="sm" c="dimmed" role="status">
                {token.trim() === '' && 'Still needed: a token.'}
              </Text>
              <Button
                type="submit"
                disabled={token.trim() === ''}
                loading={loading}
                aria-describedby="token-missing"
              >
                Check token
              </Button>
            </Group>
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
      <TextField
        label="Expected audience (aud), optional"
        description="If empty, it is not compared: a token for another service then seems right."
        value={input.audience}
        onValue={(audience) => onChange({ audience })}
        spellCheck={false}
      />
      <TextField
        label="Expected issuer (iss), optional"
        description="If empty, the issuer of this project is expected."
        {...(issuer !== undefined && { placeholder: issuer })}
        value={input.issuer}
        onValue={(text) => onChange({ issuer: text })}
        spellCheck={false}
      />
    </SimpleGrid>
  )
}
