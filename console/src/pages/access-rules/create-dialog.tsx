import { Checkbox, Select, Text } from '@mantine/core'
import type { AccessRuleCreate } from '../../../../client/src/index.ts'
import {
  type PlatformPreset,
  platformPresets,
} from '../../../../src/contract/access-rules/presets.ts'
import { CopyBlock } from '../../components/copy.tsx'
import { shellWord } from '../../components/shell.ts'
import { ActionDialog } from '../../forms/action-form.tsx'
import { ConditionsField, conditionsOf, conditionsToInput } from '../../forms/conditions-field.tsx'
import { useDraft } from '../../forms/drafts.ts'
import { LabelField } from '../../forms/label-field.tsx'
import { ProjectField } from '../../forms/project-field.tsx'
import { RoleField, toRole } from '../../forms/role-field.tsx'
import { TextField } from '../../forms/text-fields.tsx'
import { useChange } from '../../session/api.ts'

const draft = 'new-access-rule'
const grantable = ['reader', 'registrar', 'writer'] as const
const otherIssuer = 'other'

const emptyInput = {
  platform: 'github',
  subject: '',
  issuer: '',
  jwksUri: '',
  audience: '',
  name: '',
  conditions: conditionsFor('github'),
  role: 'registrar' as string,
  project: '',
  allProjects: false as boolean,
  singleUse: false as boolean,
}
type Input = typeof emptyInput
type FieldProps = { input: Input; onChange(part: Partial<Input>): void }

function presetOf(platform: string): PlatformPreset | undefined {
  return platformPresets.find((each) => each.platform === platform)
}

/** The conditions to begin with: the ids to be filled in, and what is usually wanted. */
function conditionsFor(platform: string): string {
  const { ids = {}, suggested = {} } = presetOf(platform) ?? {}
  const empty = Object.fromEntries(Object.keys(ids).map((claim) => [claim, '']))
  return conditionsToInput({ ...empty, ...suggested })
}

/** The request; without what was left empty. */
function bodyOf(input: Input): AccessRuleCreate {
  const { allProjects, singleUse } = input
  const [jwksUri, audience, project] = [input.jwksUri, input.audience, input.project].map((text) =>
    text.trim(),
  )
  const preset = presetOf(input.platform)
  const role = grantable.find((each) => each === input.role) ?? 'reader'
  return {
    name: input.name.trim(),
    issuer: preset?.issuer ?? input.issuer.trim(),
    ...(preset === undefined && jwksUri ? { keySource: 'jwksUri', jwksUri } : {}),
    ...(audience ? { audience } : {}),
    conditions: conditionsOf(input.conditions),
    role,
    ...(allProjects ? { allProjects } : project ? { project } : {}),
    ...(singleUse ? { singleUse } : {}),
  }
}

/** Creates an access rule, from a preset or for any issuer. */
export function CreateRule({ onClose }: { onClose(): void }) {
  const change = useChange(['access-rules'])
  const [input, setInput] = useDraft(draft, emptyInput)
  const body = bodyOf(input)
  const isBound = body.project !== undefined || body.allProjects === true
  return (
    <ActionDialog
      title="New access rule"
      action="Create rule"
      missing={[
        body.issuer === '' && 'an issuer',
        body.name === '' && 'a name',
        Object.keys(body.conditions).length === 0 && 'a condition',
        !isBound && 'a project',
      ]}
      draft={draft}
      request={{ method: 'POST', path: '/access-rules', body }}
      run={() => change((client) => client.accessRules.create(body))}
      onClose={onClose}
    >
      <IssuerFields input={input} onChange={setInput} />
      <LabelField
        label="Name"
        description="The exchanged API keys and their events carry it."
        placeholder="orders, deploy"
        value={input.name}
        onValue={(name) => setInput({ name })}
      />
      <ConditionsField
        input={input.conditions}
        onInput={(conditions) => setInput({ conditions })}
      />
      <RoleField
        choices={grantable}
        role={grantable.find((each) => each === toRole(input.role)) ?? 'reader'}
        onRole={(role) => setInput({ role })}
      />
      <ScopeFields input={input} onChange={setInput} />
    </ActionDialog>
  )
}

function IssuerFields({ input, onChange }: FieldProps) {
  const { platform, subject, name, issuer, jwksUri } = input
  const preset = presetOf(platform)
  return (
    <>
      <Select
        label="Platform"
        data={[
          ...platformPresets.map((each) => ({ value: each.platform, label: each.title })),
          { value: otherIssuer, label: 'Another issuer (OpenID Connect, Kubernetes, SPIFFE …)' },
        ]}
        value={platform}
        onChange={(next) => {
          const chosen = next ?? otherIssuer
          onChange({ platform: chosen, conditions: conditionsFor(chosen) })
        }}
        allowDeselect={false}
        data-autofocus
      />
      {preset === undefined ? (
        <>
          <TextField
            label="Issuer"
            description="The iss of the tokens, character by character."
            placeholder="https://issuer.example.com"
            value={issuer}
            onValue={(text) => onChange({ issuer: text })}
            required
            withAsterisk={false}
          />
          <TextField
            label="Address of the key set"
            description="Leave empty if the issuer publishes a discovery document."
            placeholder="https://issuer.example.com/keys"
            value={jwksUri}
            onValue={(text) => onChange({ jwksUri: text })}
          />
        </>
      ) : (
        <>
          <TextField
            label={preset.subject.replace(/^./, (first) => first.toUpperCase())}
            placeholder={preset.subject}
            value={subject}
            onValue={(text) =>
              // The name follows it until it is changed.
              onChange({ subject: text, ...(name === subject ? { name: text } : {}) })
            }
          />
          <Lookup preset={preset} subject={subject.trim()} />
        </>
      )}
    </>
  )
}

/** How to find the ids, which the console does not do: it sends nothing to other hosts. */
function Lookup({
  preset: { title, lookup, ids },
  subject,
}: {
  preset: PlatformPreset
  subject: string
}) {
  const wanted = Object.entries(ids).map(([claim, id]) => `${claim} (${id.title.toLowerCase()})`)
  const pointers = Object.values(ids).map(({ pointer = '' }) => pointer.replaceAll('/', '.'))
  const path = subject.split('/').map(encodeURIComponent).join('/')
  const address = lookup?.replace('{name}', encodeURIComponent(subject)).replace('{path}', path)
  return (
    <div>
      <Text size="sm" mb={4}>
        Names can be reassigned, ids cannot: fill in {wanted.join(' or ')} below.
        {address === undefined && ` They are shown in the settings of ${title}.`}
      </Text>
      {address !== undefined && subject !== '' && (
        <CopyBlock
          value={`curl -s ${shellWord(address)} | jq ${shellWord(pointers.join(', '))}`}
          name="command that prints the ids"
        />
      )}
    </div>
  )
}

function ScopeFields({ input, onChange }: FieldProps) {
  const { project, allProjects, singleUse, audience } = input
  return (
    <>
      {!allProjects && (
        <ProjectField
          description="The project that exchanged API keys are for, by name or id."
          value={project}
          onValue={(text) => onChange({ project: text })}
        />
      )}
      <Checkbox
        label="For all projects"
        checked={allProjects}
        onChange={(event) => onChange({ allProjects: event.currentTarget.checked })}
      />
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
