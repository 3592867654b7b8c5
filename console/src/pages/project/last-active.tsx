import { Alert, Text } from '@mantine/core'
import type { JwtKey } from '@pubring/client'
import { isInCommonJwks } from '@pubring/intake/algorithms'
import { IconAlertTriangle } from '@tabler/icons-react'

/** The key sets that have no key left: `jwks.json` alone, or `jwks-full.json` too. */
type Emptied = 'jwks.json' | 'both'

/** The key sets that become empty when the keys in `ending` end, now or at the time `end`. */
export function emptiedBy(
  ending: readonly JwtKey[],
  keys: readonly JwtKey[],
  end = '',
): Emptied | undefined {
  const lasts = ({ active, expireTime }: JwtKey) =>
    active && (expireTime === undefined || expireTime > end)
  const lost = ending.filter(lasts)
  const left = keys.filter((key) => lasts(key) && !ending.some(({ id }) => id === key.id))
  if (lost.length > 0 && left.length === 0) return 'both'
  return lost.some(isInCommonJwks) && !left.some(isInCommonJwks) ? 'jwks.json' : undefined
}

type WarningProps = { emptied: Emptied; count?: number }

/** Warns about the expiry of the last active key. */
export function LastExpiryWarning({ emptied }: WarningProps) {
  return (
    <Text className="warning" fw={600} inherit>
      {emptied === 'both'
        ? 'No other key is active after that: all tokens of this project stop verifying then, unless you register another key before.'
        : 'No other key in jwks.json is active after that: verifiers that read it reject all tokens of this project then, unless you register another RSA, EC or OKP key before.'}
    </Text>
  )
}

/** Warns about deactivating the last active keys. */
export function LastActiveWarning({ emptied, count = 1 }: WarningProps) {
  const place = emptied === 'both' ? '' : ' in jwks.json'
  return (
    <Text className="warning" fw={600} inherit>
      {count === 1
        ? `This is the last active key${place}.`
        : `These are the last active keys${place}.`}{' '}
      {emptied === 'both'
        ? 'All tokens of this project will stop verifying, within a second for verifiers that follow the key set live.'
        : 'Verifiers that read it will reject all tokens of this project: ML-DSA keys are in jwks-full.json alone.'}
    </Text>
  )
}

/** Says that a project with keys has none active, or none in jwks.json. */
export function NoActiveKey({ keys }: { keys: JwtKey[] }) {
  const active = keys.filter((key) => key.active)
  const isCommonEmpty = keys.some(isInCommonJwks) && !active.some(isInCommonJwks)
  if (active.length > 0 && !isCommonEmpty) return null
  return (
    <Alert color="yellow" icon={<IconAlertTriangle />} mb="sm" role="status">
      {active.length === 0
        ? 'The project has keys, and none is active: verifiers reject all its tokens. Activate a key or register one.'
        : 'None of the keys in jwks.json is active: verifiers that read it reject all tokens of this project. Activate or register an RSA, EC or OKP key.'}
    </Alert>
  )
}
