import { Button, Card, Grid, Group, SimpleGrid, Stack, Text } from '@mantine/core'
import type { Project, TokenCheck } from '@pubring/client'
import { useMutation } from '@tanstack/react-query'
import type { FormEvent } from 'react'
import { CurlHint } from '../../components/curl.tsx'
import { ErrorNotice } from '../../components/error-notice.tsx'
import { EmptyState } from '../../components/states.tsx'
import { useDraft } from '../../forms/drafts.ts'
import { TextArea, TextField } from '../../forms/text-fields.tsx'
import { useDiscovery } from '../../keys/queries.ts'
import { decodeToken } from '../../keys/tokens.ts'
import { useSession } from '../../session/context.tsx'
import { Report } from './report.tsx'
import { TokenParts } from './token-parts.tsx'

/** Checks a token step by step, and explains why it does not verify. */
export function VerifyPanel(props: {
  project: Project
  token: string
  onToken(token: string): void
}) {
  const { project, token, onToken } = props
  const [expected, expect] = useDraft(`verify.${project.id}`, { audience: '', issuer: '' })
  const input = { ...expected, token }
  const { client, withSignIn } = useSession()
  const issuer = useDiscovery(project.id).data?.issuer
  const check = useMutation({
    mutationFn: () =>
      withSignIn(() =>
        client.tokens.check(project.id, { token: input.token.trim(), ...expectations(input) }),
      ),
    gcTime: 0,
  })
  return (
    <Stack>
      <TokenForm
        projectId={project.id}
        issuer={issuer}
        input={input}
        loading={check.isPending}
        onChange={({ token: changed = token, ...part }) => {
          onToken(changed)
          expect(part)
          check.reset()
        }}
        onSubmit={() => check.mutate()}
      />
      {check.isError && <ErrorNotice error={check.error} retry={() => check.mutate()} />}
      <Result token={input.token} report={check.data} projectId={project.id} />
    </Stack>
  )
}

/** The report of the service beside the decoded token. */
function Result(props: { token: string; report: TokenCheck | undefined; projectId: string }) {
  const { token, report, projectId } = props
  const decoded = decodeToken(token)
  if (token.trim() === '') {
    return (
      <EmptyState title="Why is a token rejected?">
        Paste a token to see each verification step, and which one fails.
      </EmptyState>
    )
  }
  return (
    <Grid gap="md">
      {report !== undefined && (
        <Grid.Col span={{ base: 12, md: 6 }}>
          <Report report={report} projectId={projectId} />
        </Grid.Col>
      )}
      <Grid.Col span={{ base: 12, md: report === undefined ? 12 : 6 }}>
        {decoded === undefined ? (
          <Card withBorder padding="lg">
            <Text size="sm">
              This is not a JWT. A JWT has three parts separated by dots; the first two are JSON in
              base64url.
            </Text>
          </Card>
        ) : (
          <TokenParts {...decoded} verified={report?.valid === true} />
        )}
      </Grid.Col>
    </Grid>
  )
}

/** The fields of a token check as typed; without an issuer, the one of the project is expected. */
type TokenInput = { token: string; audience: string; issuer: string }

/** The members of the request that are filled in. */
function expectations(input: TokenInput): { audience?: string; issuer?: string } {
  const audience = input.audience.trim()
  const issuer = input.issuer.trim()
  return { ...(audience === '' ? {} : { audience }), ...(issuer === '' ? {} : { issuer }) }
}

/** The token, and the expected audience and issuer. */
function TokenForm(props: {
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
