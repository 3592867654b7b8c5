import { Checkbox } from '@mantine/core'
import type { AccessRule, AccessRuleCreate, AccessRuleUpdate, Role } from '@pubring/client'
import { sharedIssuers } from '@pubring/server/features/access-rules/presets'
import { quoted } from '../../components/text.tsx'
import { ActionDialog, useDraft } from '../../forms/action-form.tsx'
import { ChoiceField, RoleField, toRole } from '../../forms/choice-field.tsx'
import {
  ConditionsField,
  claimsWithoutValue,
  conditionsOf,
  conditionsPatch,
  conditionsToInput,
} from '../../forms/conditions-field.tsx'
import { LabelField } from '../../forms/label-field.tsx'
import { ProjectField } from '../../forms/project-field.tsx'
import { fieldOf, TextField } from '../../forms/text-fields.tsx'
import { roles } from '../../session/session.tsx'
import { RuleImpact } from './impact.tsx'
import { conditionsFor, IssuerFields, presetOf } from './issuer-fields.tsx'

type Holders = AccessRule['for']

const holders: Record<Holders, { description: string; roles: readonly Role[]; usualRole: Role }> = {
  people: {
    description: 'They have the role while they are signed in through the OpenID provider.',
    roles,
    usualRole: 'reader',
  },
  workloads: {
    description: 'They exchange the tokens of their platform for API keys of minutes.',
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
type FieldProps<Member extends keyof Input = keyof Input> = {
  input: Pick<Input, Member>
  onChange(part: Partial<Pick<Input, Member>>): void
}

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

const either = new Intl.ListFormat('en', { type: 'disjunction' })

/** Lists the missing parts of a name and conditions. `pins`: claims of which one must have a value. */
function missingIn(name: string, conditions: string, pins: readonly string[] = []) {
  const complete = conditionsOf(conditions)
  const isPinned = pins.some((claim) => !String(complete[claim] ?? '*').endsWith('*'))
  const unfinished = claimsWithoutValue(conditions).filter((claim) => !pins.includes(claim))
  return [
    name === '' && 'a name',
    pins.length > 0 && !isPinned && `a value for ${either.format(pins)}`,
    ...unfinished.map((claim) => `a value for ${claim}`),
    pins.length + unfinished.length + Object.keys(complete).length === 0 && 'a condition',
  ]
}

/** The claims of which a rule must pin one, since many customers share the issuer. */
const pinsOf = (issuer: string | undefined): readonly string[] =>
  sharedIssuers.find(({ pattern }) => pattern.test(issuer ?? ''))?.pins ?? []

// Long because its fields share the input.
export function CreateRule({ onClose }: { onClose(): void }) {
  const draft = 'new-access-rule'
  const [input, setInput] = useDraft(draft, emptyInput)
  const body = bodyOf(input)
  const isBound = body.project !== undefined || body.allProjects === true
  return (
    <ActionDialog
      title="New access rule"
      size="lg"
      action="Create rule"
      purpose="Create an access rule"
      missing={[
        body.issuer === '' && 'an issuer',
        ...missingIn(body.name, input.conditions, pinsOf(body.issuer)),
        !isBound && 'a project',
      ]}
      draft={draft}
      changes={[['access-rules']]}
      send={(client) => client.accessRules.create(body)}
      onClose={onClose}
    >
      <ChoiceField
        label="For"
        choices={['people', 'workloads']}
        choice={input.for}
        onChoice={(chosen) =>
          setInput({
            for: chosen,
            role: holders[chosen].usualRole,
            conditions: chosen === 'people' ? '' : conditionsFor(input.platform),
          })
        }
        description={holders[input.for].description}
      />
      {input.for === 'workloads' && <IssuerFields input={input} onChange={setInput} />}
      <RuleFields holders={input.for} input={input} onChange={setInput} />
      {!input.allProjects && (
        <ProjectField
          description="The project that the role is for, by name or id."
          {...fieldOf(input, setInput, 'project')}
        />
      )}
      <Checkbox
        label="For all projects"
        checked={input.allProjects}
        onChange={(event) => setInput({ allProjects: event.currentTarget.checked })}
      />
      {input.for === 'workloads' && <TokenFields input={input} onChange={setInput} />}
      {isBound && Object.keys(body.conditions).length > 0 && (
        <RuleImpact change={{ ...body, name: body.name || 'New rule' }} />
      )}
    </ActionDialog>
  )
}

function toInput({ name, conditions, role, audience, jwksUri, singleUse }: AccessRule) {
  return {
    name,
    conditions: conditionsToInput(conditions),
    role: role as string,
    audience: audience ?? '',
    jwksUri: jwksUri ?? '',
    singleUse: singleUse ?? false,
  }
}

function changesOf(rule: AccessRule, input: ReturnType<typeof toInput>): AccessRuleUpdate {
  const before = Object.entries(toInput(rule))
  const conditions = conditionsPatch(rule.conditions, conditionsOf(input.conditions))
  const changed = before.flatMap(([member, value]) => {
    const after = String(Reflect.get(input, member)).trim()
    if (member === 'conditions' || after === String(value)) return []
    return [[member, typeof value === 'boolean' ? after === 'true' : after]]
  })
  return { ...Object.fromEntries(changed), ...(conditions && { conditions }) }
}

export function EditRule({ rule, onClose }: { rule: AccessRule; onClose(): void }) {
  const { id, name, issuer, keySource } = rule
  const draft = `access-rule.${id}`
  const [input, setInput] = useDraft(draft, toInput(rule))
  const body = changesOf(rule, input)
  const hasTokens = rule.for === 'workloads' && keySource !== 'project'
  const lacking = missingIn(input.name.trim(), input.conditions, hasTokens ? pinsOf(issuer) : [])
  return (
    <ActionDialog
      title={`Edit ${quoted(name)}`}
      size="lg"
      action="Save"
      missing={[
        ...lacking.filter((each) => each !== 'a condition' || keySource !== 'project'),
        body.audience === '' && 'an audience',
        body.jwksUri === '' && 'the address of the key set',
        Object.keys(body).length === 0 && 'a change',
      ]}
      draft={draft}
      changes={[['access-rules']]}
      send={(client, confirmation) => client.accessRules.update(id, body, confirmation)}
      onClose={onClose}
    >
      <RuleFields holders={rule.for} input={input} onChange={setInput} />
      {hasTokens && <TokenFields input={input} onChange={setInput} />}
      {keySource === 'jwksUri' && (
        <TextField label="Address of the key set" {...fieldOf(input, setInput, 'jwksUri')} />
      )}
      <RuleImpact rule={rule} change={body} />
    </ActionDialog>
  )
}

function RuleFields(props: FieldProps<'name' | 'conditions' | 'role'> & { holders: Holders }) {
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
        {...fieldOf(input, onChange, 'name')}
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

const TokenFields = ({ input, onChange }: FieldProps<'singleUse' | 'audience'>) => (
  <>
    <Checkbox
      label="Accept each token once"
      description="Not for GitLab, Kubernetes and SPIFFE, which hand out the same token several times."
      checked={input.singleUse}
      onChange={(event) => onChange({ singleUse: event.currentTarget.checked })}
    />
    <TextField
      label="Audience"
      description="An aud that the tokens must have."
      placeholder="the public URL of this service"
      {...fieldOf(input, onChange, 'audience')}
    />
  </>
)
