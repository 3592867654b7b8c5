import { Text } from '@mantine/core'
import type { AccessRule, Role } from '@pubring/client'
import { Fragment } from 'react'
import { ProjectName } from '../../components/project-name.tsx'
import { UserText } from '../../components/user-text.tsx'

const rights: Record<Role, string> = {
  reader: 'read keys',
  registrar: 'read and register keys',
  writer: 'read, register, change and delete keys',
  admin: 'manage everything',
  auditor: 'read everything',
}

/** Says in one sentence what a rule allows. */
export function RuleSentence({ rule }: { rule: AccessRule }) {
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
      {subjectOf(rule)} of{' '}
      <span className="mono">
        <UserText>{issuer}</UserText>
      </span>{' '}
      {Object.entries(conditions).map(([claim, value], index) => (
        <Fragment key={claim}>
          {index === 0 ? 'whose ' : ' and '}
          <span className="mono">
            <UserText>{claim}</UserText>
          </span>{' '}
          {typeof value === 'string' && value.endsWith('*') ? 'begins with ' : 'is '}
          <span className="mono">
            <UserText>{String(value).replace(/\*$/, '')}</UserText>
          </span>
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
