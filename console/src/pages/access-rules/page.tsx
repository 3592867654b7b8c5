import { Text } from '@mantine/core'
import type { AccessRule, Role } from '@pubring/client'
import { Fragment } from 'react'
import { RowName, TwoLines } from '../../components/data-table.tsx'
import { Facts } from '../../components/facts.tsx'
import { ProjectName } from '../../components/project-name.tsx'
import { OptionalTime } from '../../components/times.tsx'
import { UserText } from '../../components/user-text.tsx'
import { type ManagedKind, ManagedPage } from '../managed-page.tsx'
import { CheckRule } from './check-dialog.tsx'
import { CreateRule, EditRule } from './dialogs.tsx'
import { RuleImpact } from './impact.tsx'

const accessRules: ManagedKind<AccessRule> = {
  path: 'access-rules',
  operations: (client) => client.accessRules,
  words: { activate: 'Activate', deactivate: 'Deactivate', inactive: 'inactive' },
  facts: (rule) => (
    <Facts
      name="The rule"
      facts={{
        'What it allows': <RuleSentence rule={rule} />,
        ...(rule.for === 'workloads' && {
          'Last exchange': <OptionalTime time={rule.lastExchangeTime} />,
        }),
      }}
    />
  ),
  impact: (rule, change) => <RuleImpact rule={rule} change={change} />,
  consequences: {
    activate: 'People have its role, and workloads can exchange tokens, from the next request on.',
    deactivate:
      'People lose its role, and API keys that were exchanged under it are rejected, with the next request. Without another role, sessions are rejected.',
    delete:
      'People lose its role, and API keys that were exchanged under it are rejected, with the next request. Its history stays in the ledger.',
  },
}

/** Which claims give which role to people, and to workloads by the tokens of their platforms. */
export function AccessRulesPage() {
  return (
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
}

const rights: Record<Role, string> = {
  reader: 'read keys',
  registrar: 'read and register keys',
  writer: 'read, register, change and delete keys',
  admin: 'manage everything',
  auditor: 'read everything',
}

/** Says in one sentence what a rule allows. */
function RuleSentence({ rule }: { rule: AccessRule }) {
  const { issuer, keySource, conditions, role, projectId } = rule
  if (keySource === 'project' && projectId !== undefined) {
    return (
      <Text size="sm">
        An active key of <ProjectName id={projectId} /> may vouch for its successor, which can then
        be registered there, once.
      </Text>
    )
  }
  return (
    <Text size="sm" style={{ overflowWrap: 'anywhere' }}>
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
