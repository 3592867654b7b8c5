import type { SignInRule, SignInRuleUpdate } from '../../../../client/src/index.ts'
import { quoted } from '../../components/user-text.tsx'
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
import { useChange } from '../../session/api.ts'

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

export function CreateRule({ onClose }: { onClose(): void }) {
  const change = useChange(['sign-in-rules'])
  const draft = 'new-sign-in-rule'
  const [input, setInput] = useDraft(draft, { ...emptyInput, project: '' })
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
      run={() => change((client) => client.signInRules.create(body))}
      onClose={onClose}
    >
      <RuleFields input={input} onChange={setInput} />
      <ProjectField
        description="Limits the role to one project, by name or id. Leave empty for all projects."
        placeholder="all projects"
        value={input.project}
        onValue={(text) => setInput({ project: text })}
      />
    </ActionDialog>
  )
}

export function EditRule({ rule, onClose }: { rule: SignInRule; onClose(): void }) {
  const change = useChange(['sign-in-rules'])
  const draft = `sign-in-rule.${rule.id}`
  const { id, name, conditions, role } = rule
  const [input, setInput] = useDraft(draft, {
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
      title={`Edit ${quoted(name)}`}
      action="Save"
      missing={[...missingIn(after.name, after.conditions), isUnchanged && 'a change']}
      draft={draft}
      request={{ method: 'PATCH', path: `/sign-in-rules/${id}`, body }}
      run={() => change((client) => client.signInRules.update(id, body))}
      onClose={onClose}
    >
      <RuleFields input={input} onChange={setInput} />
    </ActionDialog>
  )
}
