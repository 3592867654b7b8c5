import { Alert, Stack } from '@mantine/core'
import type { AccessRule, AccessRuleCheck, AccessRuleCheckRequest } from '@pubring/client'
import { IconCircleCheck, IconShieldX } from '@tabler/icons-react'
import { useState } from 'react'
import { CheckSteps } from '../../components/check-step.tsx'
import { Dialog } from '../../components/dialog.tsx'
import { localTime } from '../../components/times.tsx'
import { quoted } from '../../components/user-text.tsx'
import { ActionForm } from '../../forms/action-form.tsx'
import { TextArea } from '../../forms/text-fields.tsx'
import { isObject } from '../../keys/tokens.ts'
import { useSession } from '../../session/context.tsx'
import { JsonView } from '../verify/json-view.tsx'

/** The steps of the check of a token or of claims. */
const steps: Record<Exclude<AccessRuleCheck['steps'][number]['step'], 'people'>, string> = {
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
  others: 'No other rule accepts it',
}

/** The steps of the check of claims; that of a token adds `well_formed` and `signature`. */
const claimSteps = ['iss', 'rule_active', 'conditions']

/** Says whether a rule gives its role, and why not. What is checked leaves the page with the dialog. */
export function CheckRule({ rule, onClose }: { rule: AccessRule; onClose(): void }) {
  const { client } = useSession()
  const [text, setText] = useState('')
  const [checked, setChecked] = useState<{ text: string; report: AccessRuleCheck }>()
  const isForPeople = rule.for === 'people'
  const check = async () =>
    setChecked({ text, report: await client.accessRules.check(rule.id, subjectOf(text.trim())) })
  return (
    <Dialog title={`Check ${quoted(rule.name)}`} onClose={onClose} size="lg">
      <ActionForm
        action="Check"
        missing={[text.trim() === '' && (isForPeople ? 'claims or a token' : 'a token')]}
        run={check}
        onCancel={onClose}
      >
        <TextArea
          label={isForPeople ? 'Claims or ID token' : 'Token'}
          description={
            isForPeople
              ? 'The claims of a person as JSON, or a token with them. They are neither stored nor logged.'
              : 'A token of the workload. Nothing is exchanged, and the token is neither stored nor logged.'
          }
          value={text}
          onValue={setText}
          minRows={3}
          maxRows={8}
          autosize
          classNames={{ input: 'mono' }}
          data-autofocus
        />
        {checked?.text === text && <Report report={checked.report} rule={rule} />}
      </ActionForm>
    </Dialog>
  )
}

/** A JSON object is the claims of a person, everything else a token, which may be in quotes. */
function subjectOf(text: string): AccessRuleCheckRequest {
  try {
    const value: unknown = JSON.parse(text)
    if (isObject(value)) return { claims: value }
    return { token: typeof value === 'string' ? value : text }
  } catch {
    return { token: text }
  }
}

function Report({ report, rule }: { report: AccessRuleCheck; rule: AccessRule }) {
  const { accepted, claims } = report
  const isRefused = report.steps.some(({ outcome }) => outcome === 'failed')
  const { color, title, text } = accepted
    ? { color: 'teal', title: titles[rule.for].accepted, text: resultOf(rule, report) }
    : isRefused
      ? { color: 'red', title: titles[rule.for].refused, text: 'The step that failed says why.' }
      : unverified
  const names = Object.entries(steps).filter(([name]) => isStepOf(rule, report, name))
  return (
    <Stack gap="sm">
      <Alert
        color={color}
        icon={accepted ? <IconCircleCheck /> : <IconShieldX />}
        title={title}
        role="status"
      >
        {text}
      </Alert>
      <CheckSteps names={names} results={report.steps} />
      {claims !== undefined && <JsonView title="Claims" value={claims} />}
    </Stack>
  )
}

const unverified = {
  color: 'yellow',
  title: 'All but the signature was checked',
  text: 'The token is exchanged only once the keys of the issuer can be read.',
}
const titles = {
  people: {
    accepted: 'The rule gives its role to this person',
    refused: 'The rule does not apply to this person',
  },
  workloads: {
    accepted: 'The rule would exchange this token',
    refused: 'The rule refuses this token',
  },
}

function resultOf({ for: holders, role }: AccessRule, { expireTime }: AccessRuleCheck): string {
  if (holders === 'people') return `They have the role ${role} while they are signed in.`
  const end = expireTime === undefined ? 'the token expires' : localTime(expireTime)
  return `Exchanged now, the API key would be valid until ${end}.`
}

/** Whether the check of the rule has the step, reached or not. */
function isStepOf(rule: AccessRule, report: AccessRuleCheck, name: string): boolean {
  if (rule.for === 'workloads') return name !== (rule.keySource === 'project' ? 'sub' : 'cnf')
  return claimSteps.includes(name) || report.steps.some(({ step }) => step === name)
}
