import { Stack, Text } from '@mantine/core'
import type { AccessRule, AccessRuleCheck, AccessRuleCheckRequest, Role } from '@pubring/client'
import { Fragment, useState } from 'react'
import { CheckSteps, JsonView } from '../../components/check-step.tsx'
import { RowName, TwoLines } from '../../components/data-table.tsx'
import { Dialog } from '../../components/dialog.tsx'
import { ProjectName } from '../../components/project-name.tsx'
import { Notice } from '../../components/states.tsx'
import { localTime, OptionalTime, quoted, UserText } from '../../components/text.tsx'
import { ActionForm } from '../../forms/action-form.tsx'
import { TextArea } from '../../forms/text-fields.tsx'
import { isObject } from '../../keys/tokens.ts'
import { type ManagedKind, ManagedPage } from '../managed-page.tsx'
import { CreateRule, EditRule } from './dialogs.tsx'
import { RuleImpact } from './impact.tsx'

const accessRules: ManagedKind<AccessRule> = {
  path: 'access-rules',
  operations: (client) => client.accessRules,
  words: { activate: 'Activate', deactivate: 'Deactivate', inactive: 'inactive' },
  name: 'The rule',
  impact: (rule, change) => <RuleImpact rule={rule} change={change} />,
  consequences: {
    activate: 'People have its role, and workloads can exchange tokens, from the next request on.',
    deactivate:
      'People lose its role, and API keys that were exchanged under it are rejected, with the next request. Without another role, sessions are rejected.',
    delete:
      'People lose its role, and API keys that were exchanged under it are rejected, with the next request. Its history stays in the ledger.',
  },
}

export const AccessRulesPage = () => (
  <ManagedPage
    kind={accessRules}
    title="Access rules"
    description="People who sign in have the roles of all rules that their claims meet. Workloads exchange the token of their platform for an API key of minutes, so that no secret is stored. Changes take effect with the next request."
    newLabel="New rule"
    empty={{
      title: 'No access rules yet',
      advice:
        'Create one for each group of people and each pipeline, with the lowest role that it needs.',
    }}
    columns={[
      { title: 'Name', cell: ({ name }) => <RowName>{name}</RowName> },
      { title: 'For', cell: (rule) => rule.for },
      {
        title: 'What it allows',
        cell: (rule) => (
          <TwoLines
            below={
              rule.for === 'workloads' && (
                <>
                  Last exchange: <OptionalTime time={rule.lastExchangeTime} />
                </>
              )
            }
          >
            <RuleSentence rule={rule} />
          </TwoLines>
        ),
      },
    ]}
    ownActions={[
      { action: 'edit', label: 'Edit' },
      { action: 'check', label: 'Check', reads: true },
    ]}
    dialog={({ action, row, onClose }) => {
      if (row === undefined) return <CreateRule onClose={onClose} />
      const RuleDialog = action === 'edit' ? EditRule : CheckRule
      return <RuleDialog rule={row} onClose={onClose} />
    }}
  />
)

const rights: Record<Role, string> = {
  reader: 'read keys',
  registrar: 'read and register keys',
  writer: 'read, register, change and delete keys',
  admin: 'manage everything',
  auditor: 'read everything',
}

function RuleSentence({ rule }: { rule: AccessRule }) {
  const { issuer, keySource, conditions, role, projectId } = rule
  if (keySource === 'project' && projectId !== undefined) {
    return (
      <Text>
        An active key of <ProjectName id={projectId} /> may vouch for its successor, which can then
        be registered there, once.
      </Text>
    )
  }
  return (
    <Text>
      {subjectOf(rule)} of <UserText mono>{issuer}</UserText>{' '}
      {Object.entries(conditions).map(([claim, value], index) => (
        <Fragment key={claim}>
          {index === 0 ? 'whose ' : ' and '}
          <UserText mono>{claim}</UserText>{' '}
          {typeof value === 'string' && value.endsWith('*') ? 'begins with ' : 'is '}
          <UserText mono>{String(value).replace(/\*$/, '')}</UserText>
        </Fragment>
      ))}{' '}
      may {rights[role]} in <ProjectName id={projectId} />
      {lifetimeOf(rule)}.
    </Text>
  )
}

function subjectOf({ for: holders, singleUse }: AccessRule): string {
  if (holders === 'people') return 'A person'
  return singleUse ? 'Once per token, a workload' : 'A workload'
}

function lifetimeOf({ maxLifetime }: AccessRule): string {
  if (maxLifetime === undefined) return ''
  const time = maxLifetime % 60 === 0 ? `${maxLifetime / 60} minutes` : `${maxLifetime} seconds`
  return `, for at most ${time} each time`
}

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
function CheckRule({ rule, onClose }: { rule: AccessRule; onClose(): void }) {
  const [text, setText] = useState('')
  const [checked, setChecked] = useState<{ text: string; report: AccessRuleCheck }>()
  const isForPeople = rule.for === 'people'
  return (
    <Dialog title={`Check ${quoted(rule.name)}`} onClose={onClose} size="lg">
      <ActionForm
        action="Check"
        missing={[text.trim() === '' && (isForPeople ? 'claims or a token' : 'a token')]}
        shown={false}
        send={(client) => client.accessRules.check(rule.id, requestOf(text.trim()))}
        onSent={(report) => setChecked({ text, report })}
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
function requestOf(text: string): AccessRuleCheckRequest {
  try {
    const value: unknown = JSON.parse(text)
    if (isObject(value)) return { claims: value }
    return { token: typeof value === 'string' ? value : text }
  } catch {
    return { token: text }
  }
}

function Report({ report, rule }: { report: AccessRuleCheck; rule: AccessRule }) {
  const { claims } = report
  const { tone, title, text } = verdictOf(rule, report)
  const names = Object.entries(steps).filter(([name]) => isStepOf(rule, report, name))
  return (
    <Stack gap="sm">
      <Notice tone={tone} title={title} role="status">
        {text}
      </Notice>
      <CheckSteps names={names} results={report.steps} />
      {claims !== undefined && <JsonView title="Claims" value={claims} />}
    </Stack>
  )
}

function verdictOf(rule: AccessRule, report: AccessRuleCheck) {
  const isForPeople = rule.for === 'people'
  if (report.accepted) {
    const title = `The rule ${isForPeople ? 'gives its role to this person' : 'would exchange this token'}`
    return { tone: 'good', title, text: resultOf(rule, report) } as const
  }
  if (report.steps.some(({ outcome }) => outcome === 'failed')) {
    const title = `The rule ${isForPeople ? 'does not apply to this person' : 'refuses this token'}`
    return { tone: 'bad', title, text: 'The step that failed says why.' } as const
  }
  const text = 'The token is exchanged only once the keys of the issuer can be read.'
  return { tone: 'warning', title: 'All but the signature was checked', text } as const
}

function resultOf({ for: holders, role }: AccessRule, { expireTime }: AccessRuleCheck): string {
  if (holders === 'people') return `They have the role ${role} while they are signed in.`
  const end = expireTime === undefined ? 'the token expires' : localTime(expireTime)
  return `Exchanged now, the API key would be valid until ${end}.`
}

function isStepOf(rule: AccessRule, report: AccessRuleCheck, name: string): boolean {
  if (rule.for === 'workloads') return name !== (rule.keySource === 'project' ? 'sub' : 'cnf')
  return claimSteps.includes(name) || report.steps.some(({ step }) => step === name)
}
