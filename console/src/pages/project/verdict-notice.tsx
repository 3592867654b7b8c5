import { Button, Group, List, Loader, NativeSelect, Text } from '@mantine/core'
import { useDebouncedValue } from '@mantine/hooks'
import type { KeyCheck } from '@pubring/client'
import { useState } from 'react'
import { ErrorNotice, Notice } from '../../components/states.tsx'
import { quoted } from '../../components/text.tsx'
import { type Conversion, convert } from '../../keys/conversion.ts'
import { useApi } from '../../session/session.tsx'

type OnConvert = (conversion: Conversion) => void
type NoticeProps = { verdict: KeyVerdict; text: string; keepsKid: boolean; onConvert: OnConvert }

export function VerdictNotice({ verdict, text, ...props }: NoticeProps) {
  const { pending, check, conversions, error } = verdict
  if (text.trim() === '') return null
  if (conversions !== undefined) {
    return <ConversionNotice key={text} conversions={conversions} {...props} />
  }
  if (error !== undefined) {
    const isConversionError = error instanceof Error && error.name === 'Error'
    if (!isConversionError) return <ErrorNotice error={error} />
    return <Faults faults={[{ code: 'not_converted', detail: error.message }]} />
  }
  if (pending || check === undefined) {
    return (
      <Group gap="xs">
        <Loader size="xs" />
        <Text c="dimmed">Checking…</Text>
      </Group>
    )
  }
  if (check.accepted) return <Accepted check={check} />
  return <Faults faults={check.faults} check={check} />
}

function ConversionNotice(
  props: { conversions: Conversion[] } & Pick<NoticeProps, 'keepsKid' | 'onConvert'>,
) {
  const { conversions, keepsKid, onConvert } = props
  const [index, setIndex] = useState(0)
  const conversion = conversions[index]
  if (conversion === undefined) return null
  const { from, kid, version, label } = conversion
  const isSet = conversions.length > 1
  const title = isSet
    ? `This is a ${version === undefined ? 'JWKS: choose one of its keys' : `${from}: choose a version`}`
    : `This is ${from === 'OpenSSH key' ? 'an' : 'a'} ${from}`
  return (
    <Notice tone="info" title={title}>
      <Text>
        Pubring registers one public key. You can extract it here, in your browser.
        {keepsKid && kid !== undefined && ` Its kid, ${quoted(kid)}, becomes the published kid.`}
        {label !== undefined && ` The label will be ${quoted(label)}, unless you have entered one.`}
      </Text>
      {isSet && (
        <NativeSelect
          mt="sm"
          aria-label="Key to extract"
          data={conversions.map((each, at) => ({
            value: String(at),
            label:
              each.version === undefined
                ? (each.kid ?? `Key ${at + 1}, without a kid`)
                : `Version ${each.version}`,
          }))}
          value={index}
          onChange={({ currentTarget }) => setIndex(Number(currentTarget.value))}
        />
      )}
      <Button size="xs" mt="sm" onClick={() => onConvert(conversion)}>
        Extract public key
      </Button>
    </Notice>
  )
}

/** The kind of key that the check recognized, such as “RSA, 2048 bits”. */
function describeKey({ key }: KeyCheck): string | undefined {
  if (key === undefined) return undefined
  return [key.kty, key.crv, key.bits && `${key.bits} bits`].filter(Boolean).join(', ')
}

function Accepted({ check }: { check: KeyCheck }) {
  const description = describeKey(check)
  return (
    <Notice
      tone="good"
      title={description === undefined ? 'Valid key' : `Valid key: ${description}`}
    >
      <Text size="xs">
        Thumbprint <span className="mono">{check.key?.thumbprint}</span>
      </Text>
      {check.warnings.map(({ code, detail }) => (
        <Text key={code} mt={4}>
          {detail}
        </Text>
      ))}
    </Notice>
  )
}

function Faults({ faults, check }: { faults: KeyCheck['faults']; check?: KeyCheck }) {
  const description = check && describeKey(check)
  return (
    <Notice
      tone="bad"
      title={`This key cannot be registered${description === undefined ? '' : `: ${description}`}`}
    >
      <List size="sm" listStyleType={faults.length > 1 ? 'disc' : 'none'}>
        {faults.map(({ code, detail }) => (
          <List.Item key={code}>
            {detail}{' '}
            <Text span size="xs" c="dimmed" className="mono">
              {code}
            </Text>
          </List.Item>
        ))}
      </List>
      {faults.some(({ skipped }) => skipped !== undefined) && (
        <Text size="xs" c="dimmed" mt={4}>
          Slower rules were not checked, because this already rejects the key.
        </Text>
      )}
    </Notice>
  )
}

type KeyVerdict = {
  pending: boolean
  check?: KeyCheck | undefined
  /** The keys of a text in a format that the service does not accept. */
  conversions?: Conversion[] | undefined
  error?: unknown
}

/** Checks a key while the user types: here if `convert` knows it, otherwise by the service. */
export function useVerdict(text: string): KeyVerdict {
  const [settled] = useDebouncedValue(text.trim(), 300)
  const checked = settled === text.trim() ? settled : ''
  const query = useApi(
    ['verdict', checked],
    checked !== '' &&
      (async (client, signal): Promise<Pick<KeyVerdict, 'check' | 'conversions'>> => {
        const conversions = convert(checked)
        if (conversions.length > 0) return { conversions }
        return { check: await client.keys.check({ publicKeyPem: checked }, { signal }) }
      }),
    { gcTime: 0 },
  )
  if (text.trim() === '') return { pending: false }
  return {
    pending: checked === '' || query.isFetching,
    ...(query.data ?? {}),
    ...(query.isError ? { error: query.error } : {}),
  }
}
