import { Card, Grid, SimpleGrid, Stack, Text } from '@mantine/core'
import type { Project, TokenCheck } from '@pubring/client'
import { useState } from 'react'
import { EmptyState } from '../../components/states.tsx'
import { ActionForm } from '../../forms/action-form.tsx'
import { useDraft } from '../../forms/drafts.ts'
import { fieldOf, TextArea, TextField } from '../../forms/text-fields.tsx'
import { fromExpiryInput, TimeField } from '../../forms/time-field.tsx'
import { useDiscovery } from '../../keys/queries.ts'
import { decodeToken } from '../../keys/tokens.ts'
import { useSession } from '../../session/context.tsx'
import { Report, TokenParts } from './report.tsx'

/** Checks a token step by step, and explains why it does not verify. */
export function VerifyPanel(props: {
  project: Project
  token: string
  onToken(token: string): void
}) {
  const { project, token, onToken } = props
  const [expected, expect] = useDraft(`verify.${project.id}`, {
    audience: '',
    issuer: '',
    at: '',
  })
  const [checked, setChecked] = useState<{ input: string; report: TokenCheck }>()
  const { client } = useSession()
  const path = `/projects/${project.id}/token-checks`
  const sent = expectations(expected)
  const input = JSON.stringify([token, sent])
  const check = async () => {
    const report = await client.tokens.check(project.id, { token: token.trim(), ...sent })
    setChecked({ input, report })
  }
  return (
    <Stack>
      <Card withBorder padding="lg">
        <ActionForm
          action="Check token"
          missing={[token.trim() === '' && 'a token']}
          request={{ method: 'POST', path, body: { token: 'YOUR_TOKEN', ...sent } }}
          run={check}
        >
          <TextArea
            label="Token"
            description="Sent only to this server, and neither stored nor logged."
            placeholder="eyJhbGciOi…"
            rows={5}
            classNames={{ input: 'mono' }}
            value={token}
            onValue={onToken}
          />
          <Expectations projectId={project.id} input={expected} onChange={expect} />
        </ActionForm>
      </Card>
      <Result
        token={token}
        report={checked?.input === input ? checked.report : undefined}
        projectId={project.id}
      />
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

/** As typed: an empty issuer stands for that of the project, and an empty time for now. */
type Expected = { audience: string; issuer: string; at: string }

/** The members of the request that are filled in. */
function expectations(input: Expected): { audience?: string; issuer?: string; at?: string } {
  const audience = input.audience.trim()
  const issuer = input.issuer.trim()
  const at = fromExpiryInput(input.at)
  return {
    ...(audience === '' ? {} : { audience }),
    ...(issuer === '' ? {} : { issuer }),
    ...(at && { at }),
  }
}

function Expectations(props: {
  projectId: string
  input: Expected
  onChange(part: Partial<Expected>): void
}) {
  const { projectId, input, onChange } = props
  const issuer = useDiscovery(projectId).data?.issuer
  return (
    <SimpleGrid cols={{ base: 1, sm: 3 }}>
      <TextField
        label="Expected audience (aud), optional"
        description="If empty, it is not compared: a token for another service then seems right."
        {...fieldOf(input, onChange, 'audience')}
        spellCheck={false}
      />
      <TextField
        label="Expected issuer (iss), optional"
        description="If empty, the issuer of this project is expected."
        {...(issuer !== undefined && { placeholder: issuer })}
        {...fieldOf(input, onChange, 'issuer')}
        spellCheck={false}
      />
      <TimeField
        label="At (your local time), optional"
        description="Whether it would have verified at this past time. If empty, now."
        {...fieldOf(input, onChange, 'at')}
      />
    </SimpleGrid>
  )
}
