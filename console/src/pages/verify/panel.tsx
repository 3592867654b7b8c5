import { Card, Grid, Stack, Text } from '@mantine/core'
import { useMutation } from '@tanstack/react-query'
import { useState } from 'react'
import type { Project, TokenCheck } from '../../../../client/src/index.ts'
import { ErrorNotice } from '../../components/error-notice.tsx'
import { EmptyState } from '../../components/states.tsx'
import { useAddresses } from '../../keys/queries.ts'
import { useSession } from '../../session/context.tsx'
import { decodeToken } from './decode.ts'
import { Report } from './report.tsx'
import { emptyQuestion, expectedOf, type Question, TokenForm } from './token-form.tsx'
import { TokenParts } from './token-parts.tsx'

/** Says why a token verifies or not, step by step. */
export function Verify({ project }: { project: Project }) {
  const { client } = useSession()
  const issuer = useAddresses(project.id).data?.issuer
  const [question, setQuestion] = useState<Question>(emptyQuestion)
  const check = useMutation({
    mutationFn: () =>
      client.tokens.check(project.id, { token: question.token.trim(), ...expectedOf(question) }),
    gcTime: 0,
  })
  return (
    <Stack>
      <TokenForm
        projectId={project.id}
        issuer={issuer}
        question={question}
        busy={check.isPending}
        onQuestion={(changed) => {
          setQuestion(changed)
          check.reset()
        }}
        onSubmit={() => check.mutate()}
      />
      {check.isError && <ErrorNotice error={check.error} retry={() => check.mutate()} />}
      <Answer token={question.token} report={check.data} projectId={project.id} />
    </Stack>
  )
}

/** What the service says of the token, beside what the token says of itself. */
function Answer(props: { token: string; report: TokenCheck | undefined; projectId: string }) {
  const { token, report, projectId } = props
  const decoded = decodeToken(token)
  if (token.trim() === '') {
    return (
      <EmptyState title="Why is a token refused?">
        Paste it: each step that a verifier takes is shown, and where it ends.
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
              This cannot be read as a JWT: three parts with dots between, the first two JSON in
              base64url.
            </Text>
          </Card>
        ) : (
          <TokenParts {...decoded} proved={report?.valid === true} />
        )}
      </Grid.Col>
    </Grid>
  )
}
