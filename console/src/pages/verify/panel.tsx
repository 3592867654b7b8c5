import { Card, Grid, SimpleGrid, Stack, Text } from '@mantine/core'
import type { Project, TokenCheck } from '@pubring/client'
import { EmptyState } from '../../components/states.tsx'
import { ActionForm, useDraft } from '../../forms/action-form.tsx'
import { fieldOf, TextField } from '../../forms/text-fields.tsx'
import { fromExpiryInput, TimeField } from '../../forms/time-field.tsx'
import { useDiscovery } from '../../keys/queries.ts'
import { decodeToken } from '../../keys/tokens.ts'
import { Report, TokenField, TokenParts, useTokenCheck } from './report.tsx'

type VerifyPanelProps = { project: Project; token: string; onToken(token: string): void }

export function VerifyPanel({ project, token, onToken }: VerifyPanelProps) {
  const [expected, expect] = useDraft(`verify.${project.id}`, { audience: '', issuer: '', at: '' })
  const { issuer } = useDiscovery(project.id).data ?? {}
  const sent = expectations(expected)
  const { check, report } = useTokenCheck(project.id, token, sent)
  return (
    <Stack>
      <Card withBorder padding="lg">
        <ActionForm
          action="Check token"
          missing={[token.trim() === '' && 'a token']}
          shown={(client) => client.tokens.check(project.id, { token: 'YOUR_TOKEN', ...sent })}
          {...check}
        >
          <TokenField
            description="Sent only to this server, and neither stored nor logged."
            rows={5}
            value={token}
            onValue={onToken}
          />
          <SimpleGrid cols={{ base: 1, md: 3 }} style={{ alignItems: 'end' }}>
            <TextField
              label="Expected audience (aud), optional"
              description="If empty, any audience seems right."
              {...fieldOf(expected, expect, 'audience')}
              spellCheck={false}
            />
            <TextField
              label="Expected issuer (iss), optional"
              description="If empty, the issuer of this project is expected."
              {...(issuer !== undefined && { placeholder: issuer })}
              {...fieldOf(expected, expect, 'issuer')}
              spellCheck={false}
            />
            <TimeField
              label="At (your local time), optional"
              description="A past time to check it at. If empty, now."
              {...fieldOf(expected, expect, 'at')}
            />
          </SimpleGrid>
        </ActionForm>
      </Card>
      <Result token={token} report={report} projectId={project.id} />
    </Stack>
  )
}

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
            <Text>
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

/** As typed: an empty issuer stands for that of the project, and an empty time for now. */
type Expected = { audience: string; issuer: string; at: string }

function expectations({ audience, issuer, at }: Expected): Partial<Expected> {
  const members = { audience: audience.trim(), issuer: issuer.trim(), at: fromExpiryInput(at) }
  return Object.fromEntries(Object.entries(members).filter(([, value]) => value))
}
