import { Alert, Button, Group, Stack, Text } from '@mantine/core'
import { IconCircleCheck, IconShieldX } from '@tabler/icons-react'
import { useMutation } from '@tanstack/react-query'
import { type FormEvent, useState } from 'react'
import type { AccessRule, AccessRuleCheck } from '../../../../client/src/index.ts'
import { CheckSteps } from '../../components/check-step.tsx'
import { Dialog } from '../../components/dialog.tsx'
import { ErrorNotice } from '../../components/error-notice.tsx'
import { localTime } from '../../components/times.tsx'
import { quoted } from '../../components/user-text.tsx'
import { TextArea } from '../../forms/text-fields.tsx'
import { useSession } from '../../session/context.tsx'
import { JsonView } from '../verify/json-view.tsx'

const steps: Record<AccessRuleCheck['steps'][number]['step'], string> = {
  well_formed: 'It is a signed JWT',
  iss: 'The issuer is that of the rule',
  rule_active: 'The rule is active',
  type: 'It is an ID token or access token',
  signature: 'A key of the issuer verifies the signature',
  exp: 'It has not expired',
  nbf: 'It is valid already',
  aud: 'It is meant for this service',
  sub: 'It names its subject',
  conditions: 'The claims meet the conditions',
  cnf: 'It names the key that it may register',
  jti: 'It can be used once only',
}

/** Says whether a rule would accept a token, and why not. The token leaves the page with the dialog. */
export function CheckToken({ rule, onClose }: { rule: AccessRule; onClose(): void }) {
  const { client, withSignIn } = useSession()
  const [token, setToken] = useState('')
  const check = useMutation({
    mutationFn: () => withSignIn(() => client.accessRules.check(rule.id, token.trim())),
    gcTime: 0,
  })
  function submit(event: FormEvent) {
    event.preventDefault()
    check.mutate()
  }
  return (
    <Dialog title={`Would ${quoted(rule.name)} accept a token?`} onClose={onClose} size="lg">
      <form onSubmit={submit}>
        <Stack>
          <TextArea
            label="Token"
            description="A token of the workload. Nothing is exchanged, and the token is neither stored nor logged."
            value={token}
            onValue={(text) => {
              setToken(text)
              check.reset()
            }}
            minRows={3}
            maxRows={8}
            autosize
            required
            withAsterisk={false}
            classNames={{ input: 'mono' }}
            data-autofocus
          />
          {check.isError && <ErrorNotice error={check.error} />}
          {check.data !== undefined && <Report report={check.data} rule={rule} />}
          <Group justify="flex-end">
            <Button variant="default" onClick={onClose}>
              Close
            </Button>
            <Button type="submit" loading={check.isPending} disabled={token.trim() === ''}>
              Check token
            </Button>
          </Group>
        </Stack>
      </form>
    </Dialog>
  )
}

function Report({ report, rule }: { report: AccessRuleCheck; rule: AccessRule }) {
  const { accepted, expireTime, claims } = report
  // A token of the project names its successor, others their subject.
  const other = rule.keySource === 'project' ? 'sub' : 'cnf'
  const names = Object.entries(steps).filter(([name]) => name !== other)
  return (
    <Stack gap="sm">
      <Alert
        color={accepted ? 'teal' : 'red'}
        icon={accepted ? <IconCircleCheck /> : <IconShieldX />}
        title={accepted ? 'The rule would exchange this token' : 'The rule refuses this token'}
        role="status"
      >
        {accepted
          ? `Exchanged now, the API key would be valid until ${expireTime === undefined ? 'the token expires' : localTime(expireTime)}.`
          : 'The step that failed says why. The workload itself is not told.'}
      </Alert>
      <CheckSteps names={names} results={report.steps} />
      {claims !== undefined && (
        <div>
          <Text size="sm" fw={600}>
            Claims
          </Text>
          <JsonView value={claims} label="Claims" />
        </div>
      )}
    </Stack>
  )
}
