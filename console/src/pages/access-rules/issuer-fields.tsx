import { Select, Text } from '@mantine/core'
import { type PlatformPreset, platformPresets } from '@pubring/server/features/access-rules/presets'
import { capitalized } from '../../components/capitalized.ts'
import { CopyBlock } from '../../components/copy.tsx'
import { shellWord } from '../../components/shell.ts'
import { conditionsToInput } from '../../forms/conditions-field.tsx'
import { fieldOf, TextField } from '../../forms/text-fields.tsx'

const otherIssuer = 'other'

type IssuerInput = Record<
  'platform' | 'subject' | 'issuer' | 'jwksUri' | 'name' | 'conditions',
  string
>

export const presetOf = (platform: string): PlatformPreset | undefined =>
  platformPresets.find((each) => each.platform === platform)

/** The conditions to begin with: the ids to be filled in, and what is usually wanted. */
export function conditionsFor(platform: string): string {
  const { ids = {}, suggested = {} } = presetOf(platform) ?? {}
  const empty = Object.fromEntries(Object.keys(ids).map((claim) => [claim, '']))
  return conditionsToInput({ ...empty, ...suggested })
}

type IssuerFieldsProps = { input: IssuerInput; onChange(part: Partial<IssuerInput>): void }

export function IssuerFields({ input, onChange }: IssuerFieldsProps) {
  const { platform, subject, name } = input
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
            {...fieldOf(input, onChange, 'issuer')}
            required
            withAsterisk={false}
          />
          <TextField
            label="Address of the key set"
            description="Leave empty if the issuer publishes a discovery document."
            placeholder="https://issuer.example.com/keys"
            {...fieldOf(input, onChange, 'jwksUri')}
          />
        </>
      ) : (
        <>
          <TextField
            label={capitalized(preset.subject)}
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
function Lookup(props: { preset: PlatformPreset; subject: string }) {
  const { subject } = props
  const { title, lookup, ids } = props.preset
  const wanted = Object.entries(ids).map(([claim, id]) => `${claim} (${id.title.toLowerCase()})`)
  const pointers = Object.values(ids).map(({ pointer = '' }) => pointer.replaceAll('/', '.'))
  const path = subject.split('/').map(encodeURIComponent).join('/')
  const address = lookup?.replace('{name}', encodeURIComponent(subject)).replace('{path}', path)
  return (
    <div>
      <Text mb={4}>
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
