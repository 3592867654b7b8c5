import { Card, Grid, Stack, Text } from '@mantine/core'
import type { Project, TokenCheck } from '@pubring/client'
import { useMutation } from '@tanstack/react-query'
import { ErrorNotice } from '../../components/error-notice.tsx'
import { EmptyState } from '../../components/states.tsx'
import { useDraft } from '../../forms/drafts.ts'
import { useDiscovery } from '../../keys/queries.ts'
import { decodeToken } from '../../keys/tokens.ts'
import { useSession } from '../../session/context.tsx'
import { Report } from './report.tsx'
import { expectations, TokenForm } from './token-form.tsx'
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
