import { useQueryClient } from '@tanstack/react-query'
import type { SignInRule, SignInRuleUpdate } from '../../../../client/src/index.ts'
import { ConditionList } from '../../components/conditions.tsx'
import { Fact, Facts } from '../../components/facts.tsx'
import { withVisibleControls } from '../../components/user-text.tsx'
import { ActionDialog } from '../../forms/action-form.tsx'
import {
  ConditionsField,
  conditionsOf,
  conditionsPatch,
  conditionsToInput,
} from '../../forms/conditions-field.tsx'
import { useDraft } from '../../forms/drafts.ts'
import { LabelField } from '../../forms/label-field.tsx'
import { ProjectField } from '../../forms/project-field.tsx'
import { RoleField, toRole } from '../../forms/role-field.tsx'
import { useSession } from '../../session/context.tsx'
import type { ManagedAction } from '../managed-page.tsx'

type RuleAction = ManagedAction<'edit'>

type DialogProps = { rule: SignInRule; onClose(): void }

/** The dialog for an action on a rule, which must exist unless it is to be created. */
export function RuleDialog(props: {
  action: RuleAction
  rule: SignInRule | undefined
  onClose(): void
}) {
  const { action, rule, onClose } = props
  if (action === 'create') return <CreateRule onClose={onClose} />
  if (rule === undefined) return null
  if (action === 'edit') return <EditRule rule={rule} onClose={onClose} />
  if (action === 'delete') return <DeleteRule rule={rule} onClose={onClose} />
  return <SetActive rule={rule} active={action === 'activate'} onClose={onClose} />
}

const quoted = ({ name }: SignInRule) => `“${withVisibleControls(name)}”`

function useRefresh() {
  const queries = useQueryClient()
  return () => queries.invalidateQueries({ queryKey: ['sign-in-rules'] })
}

const emptyInput = { name: '', conditions: '', role: 'reader' as string }
type Input = typeof emptyInput

function RuleFields(props: { input: Input; onChange(part: Partial<Input>): void }) {
  const { input, onChange } = props
  return (
    <>
      <LabelField
        label="Name"
        description="Whom the rule is for."
        placeholder="platform team"
        value={input.name}
        onValue={(name) => onChange({ name })}
        autoFocus
      />
      <ConditionsField
        input={input.conditions}
        onInput={(conditions) => onChange({ conditions })}
      />
      <RoleField role={toRole(input.role)} onRole={(role) => onChange({ role })} />
    </>
  )
}

function missingIn(name: string, conditions: object) {
  return [name === '' && 'a name', Object.keys(conditions).length === 0 && 'a condition']
}

function CreateRule({ onClose }: { onClose(): void }) {
  const { client } = useSession()
  const refresh = useRefresh()
  const draft = 'new-sign-in-rule'
  const [input, change] = useDraft(draft, { ...emptyInput, project: '' })
  const project = input.project.trim()
  const body = {
    name: input.name.trim(),
    conditions: conditionsOf(input.conditions),
    role: toRole(input.role),
    ...(project === '' ? {} : { project }),
  }
  return (
    <ActionDialog
      title="New sign-in rule"
      action="Create rule"
      missing={missingIn(body.name, body.conditions)}
      draft={draft}
      request={{ method: 'POST', path: '/sign-in-rules', body }}
      run={async () => {
        await client.signInRules.create(body)
        await refresh()
      }}
      onClose={onClose}
    >
      <RuleFields input={input} onChange={change} />
      <ProjectField
        description="Limits the role to one project, by name or id. Leave empty for all projects."
        placeholder="all projects"
        value={input.project}
        onValue={(text) => change({ project: text })}
      />
    </ActionDialog>
  )
}

function useRuleUpdate({ id }: SignInRule, body: SignInRuleUpdate) {
  const { client } = useSession()
  const refresh = useRefresh()
  return {
    request: { method: 'PATCH', path: `/sign-in-rules/${id}`, body } as const,
    run: async () => {
      await client.signInRules.update(id, body)
      await refresh()
    },
  }
}

function EditRule({ rule, onClose }: DialogProps) {
  const draft = `sign-in-rule.${rule.id}`
  const { name, conditions, role } = rule
  const [input, change] = useDraft(draft, {
    name,
    conditions: conditionsToInput(conditions),
    role: role as string,
  })
  const after = { name: input.name.trim(), conditions: conditionsOf(input.conditions) }
  const patch = conditionsPatch(conditions, after.conditions)
  const body: SignInRuleUpdate = {
    ...(after.name === name ? {} : { name: after.name }),
    ...(patch === undefined ? {} : { conditions: patch }),
    ...(toRole(input.role) === role ? {} : { role: toRole(input.role) }),
  }
  const isUnchanged = Object.keys(body).length === 0
  return (
    <ActionDialog
      title={`Edit ${quoted(rule)}`}
      action="Save"
      missing={[...missingIn(after.name, after.conditions), isUnchanged && 'a change']}
      draft={draft}
      onClose={onClose}
      {...useRuleUpdate(rule, body)}
    >
      <RuleFields input={input} onChange={change} />
    </ActionDialog>
  )
}

function SetActive({ rule, active, onClose }: DialogProps & { active: boolean }) {
  const action = active ? 'Activate' : 'Deactivate'
  return (
    <ActionDialog
      title={`${action} ${quoted(rule)}?`}
      action={action}
      danger={!active}
      onClose={onClose}
      {...useRuleUpdate(rule, { active })}
    >
      <RuleFacts rule={rule} />
      {active
        ? 'People who meet the conditions have the role from their next request.'
        : 'People have this role no more from their next request. Without another role, their sessions are rejected.'}
    </ActionDialog>
  )
}

function DeleteRule({ rule, onClose }: DialogProps) {
  const { client } = useSession()
  const refresh = useRefresh()
  return (
    <ActionDialog
      title={`Delete ${quoted(rule)}?`}
      action="Delete permanently"
      danger
      request={{ method: 'DELETE', path: `/sign-in-rules/${rule.id}` }}
      run={async () => {
        await client.signInRules.delete(rule.id)
        await refresh()
      }}
      onClose={onClose}
    >
      <RuleFacts rule={rule} />
      People have this role no more from their next request. The history of the rule stays in the
      ledger.
    </ActionDialog>
  )
}

function RuleFacts({ rule }: { rule: SignInRule }) {
  return (
    <Facts name="The rule">
      <Fact name="Conditions">
        <ConditionList conditions={rule.conditions} />
      </Fact>
      <Fact name="Role">{rule.role}</Fact>
    </Facts>
  )
}
