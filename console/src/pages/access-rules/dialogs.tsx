import { Button, Checkbox, Group, SegmentedControl, Stack, Text } from '@mantine/core'
import type { AccessRule, AccessRuleCreate, AccessRuleUpdate, Role } from '@pubring/client'
import { useId, useState } from 'react'
import { Dialog } from '../../components/dialog.tsx'
import { quoted, UserText } from '../../components/user-text.tsx'
import { ActionDialog, ActionForm } from '../../forms/action-form.tsx'
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
import { TextField } from '../../forms/text-fields.tsx'
import { useChange } from '../../session/api.ts'
import { roles } from '../../session/rights.ts'
import { conditionsFor, IssuerFields, presetOf } from './issuer-fields.tsx'

type Holders = AccessRule['for']

/** Whom a rule is for, and what is usual for them. */
const holders: Record<Holders, { title: string; roles: readonly Role[]; usualRole: Role }> = {
  people: { title: 'People', roles, usualRole: 'reader' },
  workloads: {
    title: 'Workloads',
    roles: roles.filter((role) => role !== 'admin'),
    usualRole: 'registrar',
  },
}

const emptyInput = {
  for: 'workloads' as Holders,
  platform: 'github',
  subject: '',
  issuer: '',
  jwksUri: '',
  audience: '',
  name: '',
  conditions: conditionsFor('github'),
  role: holders.workloads.usualRole as string,
  project: '',
  allProjects: false as boolean,
  singleUse: false as boolean,
}
type Input = typeof emptyInput
type FieldProps = { input: Input; onChange(part: Partial<Input>): void }

/** The request; without what was left empty. */
function bodyOf(input: Input): AccessRuleCreate {
  const { allProjects, singleUse } = input
  const [jwksUri, audience, project] = [input.jwksUri, input.audience, input.project].map((text) =>
    text.trim(),
  )
  const common = {
    for: input.for,
    name: input.name.trim(),
    conditions: conditionsOf(input.conditions),
    role: toRole(input.role),
    ...(allProjects ? { allProjects } : project ? { project } : {}),
  }
  if (input.for === 'people') return common
  const preset = presetOf(input.platform)
  return {
    ...common,
    issuer: preset?.issuer ?? input.issuer.trim(),
    ...(preset === undefined && jwksUri ? { keySource: 'jwksUri', jwksUri } : {}),
    ...(audience ? { audience } : {}),
    ...(singleUse ? { singleUse } : {}),
  }
}

function missingIn(name: string, conditions: object) {
  return [name === '' && 'a name', Object.keys(conditions).length === 0 && 'a condition']
}

/** Creates a rule: for people, for the workloads of a preset, or for those of any issuer. */
export function CreateRule({ onClose }: { onClose(): void }) {
  const change = useChange(['access-rules'])
  const draft = 'new-access-rule'
  const [input, setInput] = useDraft(draft, emptyInput)
  const [notes, setNotes] = useState<string[]>()
  const body = bodyOf(input)
  const isBound = body.project !== undefined || body.allProjects === true
  async function create() {
    let found: string[] = []
    await change(async (client) => {
      found = (await client.accessRules.create(body)).notes ?? []
    })
    if (found.length > 0) setNotes(found)
    else onClose()
  }
  if (notes !== undefined) return <Created notes={notes} onClose={onClose} />
  return (
    <Dialog title="New access rule" onClose={onClose}>
      <ActionForm
        action="Create rule"
        missing={[
          body.issuer === '' && 'an issuer',
          ...missingIn(body.name, body.conditions),
          !isBound && 'a project',
        ]}
        draft={draft}
        request={{ method: 'POST', path: '/access-rules', body }}
        run={create}
        onCancel={onClose}
      >
        <HoldersField input={input} onChange={setInput} />
        {input.for === 'workloads' && <IssuerFields input={input} onChange={setInput} />}
        <RuleFields holders={input.for} input={input} onChange={setInput} />
        <ScopeFields input={input} onChange={setInput} />
        {input.for === 'workloads' && <TokenFields input={input} onChange={setInput} />}
      </ActionForm>
    </Dialog>
  )
}

/** Says what the service has found where the keys of the issuer are. */
function Created({ notes, onClose }: { notes: readonly string[]; onClose(): void }) {
  return (
    <Dialog title="The rule is created" onClose={onClose}>
      <Stack>
        {notes.map((note) => (
          <Text key={note} style={{ overflowWrap: 'anywhere' }}>
            <UserText>{note}</UserText>
          </Text>
        ))}
        <Group justify="flex-end">
          <Button onClick={onClose} data-autofocus>
            Close
          </Button>
        </Group>
      </Stack>
    </Dialog>
  )
}

/** Changes what the rules for people and for workloads have in common. */
export function EditRule({ rule, onClose }: { rule: AccessRule; onClose(): void }) {
  const change = useChange(['access-rules'])
  const { id, name, conditions, role } = rule
  const draft = `access-rule.${id}`
  const [input, setInput] = useDraft(draft, {
    name,
    conditions: conditionsToInput(conditions),
    role: role as string,
  })
  const after = { name: input.name.trim(), conditions: conditionsOf(input.conditions) }
  const patch = conditionsPatch(conditions, after.conditions)
  const body: AccessRuleUpdate = {
    ...(after.name === name ? {} : { name: after.name }),
    ...(patch === undefined ? {} : { conditions: patch }),
    ...(toRole(input.role) === role ? {} : { role: toRole(input.role) }),
  }
  const isUnchanged = Object.keys(body).length === 0
  const needsConditions = rule.keySource !== 'project'
  return (
    <ActionDialog
      title={`Edit ${quoted(name)}`}
      action="Save"
      missing={[
        ...missingIn(after.name, needsConditions ? after.conditions : { none: true }),
        isUnchanged && 'a change',
      ]}
      draft={draft}
      request={{ method: 'PATCH', path: `/access-rules/${id}`, body }}
      run={() => change((client) => client.accessRules.update(id, body))}
      onClose={onClose}
    >
      <RuleFields holders={rule.for} input={input} onChange={setInput} />
    </ActionDialog>
  )
}

function HoldersField({ input, onChange }: FieldProps) {
  const id = useId()
  return (
    <div>
      <Text size="sm" fw={500} mb={4} id={id}>
        For
      </Text>
      <SegmentedControl
        aria-labelledby={id}
        data={Object.entries(holders).map(([value, { title }]) => ({ value, label: title }))}
        value={input.for}
        onChange={(selected) => {
          const chosen = selected === 'people' ? 'people' : 'workloads'
          onChange({
            for: chosen,
            role: holders[chosen].usualRole,
            conditions: chosen === 'people' ? '' : conditionsFor(input.platform),
          })
        }}
        fullWidth
      />
      <Text size="xs" c="dimmed" mt={4}>
        {input.for === 'people'
          ? 'They have the role while they are signed in through the OpenID provider.'
          : 'They exchange the tokens of their platform for API keys of minutes.'}
      </Text>
    </div>
  )
}

type RuleInput = Pick<Input, 'name' | 'conditions' | 'role'>

function RuleFields(props: {
  holders: Holders
  input: RuleInput
  onChange(part: Partial<RuleInput>): void
}) {
  const { input, onChange } = props
  const { roles: choices, usualRole } = holders[props.holders]
  const isForPeople = props.holders === 'people'
  return (
    <>
      <LabelField
        label="Name"
        description={
          isForPeople
            ? 'Whom the rule is for.'
            : 'The exchanged API keys and their events carry it.'
        }
        placeholder={isForPeople ? 'platform team' : 'orders, deploy'}
        value={input.name}
        onValue={(name) => onChange({ name })}
      />
      <ConditionsField
        input={input.conditions}
        onInput={(conditions) => onChange({ conditions })}
      />
      <RoleField
        choices={choices}
        role={choices.find((role) => role === input.role) ?? usualRole}
        onRole={(role) => onChange({ role })}
      />
    </>
  )
}

function ScopeFields({ input: { project, allProjects }, onChange }: FieldProps) {
  return (
    <>
      {!allProjects && (
        <ProjectField
          description="The project that the role is for, by name or id."
          value={project}
          onValue={(text) => onChange({ project: text })}
        />
      )}
      <Checkbox
        label="For all projects"
        checked={allProjects}
        onChange={(event) => onChange({ allProjects: event.currentTarget.checked })}
      />
    </>
  )
}

function TokenFields({ input: { singleUse, audience }, onChange }: FieldProps) {
  return (
    <>
      <Checkbox
        label="Accept each token once"
        description="Not for GitLab, Kubernetes and SPIFFE, which hand out the same token several times."
        checked={singleUse}
        onChange={(event) => onChange({ singleUse: event.currentTarget.checked })}
      />
      <TextField
        label="Audience"
        description="An aud that the tokens must have. Leave empty for the public URL of this service."
        value={audience}
        onValue={(text) => onChange({ audience: text })}
      />
    </>
  )
}
