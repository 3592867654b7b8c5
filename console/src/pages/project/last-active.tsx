import { Text } from '@mantine/core'
import type { JwtKey } from '@pubring/client'
import { isInCommonJwks } from '@pubring/intake/algorithms'

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

export const LastExpiryWarning = ({ emptied }: WarningProps) => (
  <Text className="warning" fw={600} inherit>
    {emptied === 'both'
      ? 'No other key is active after that: all tokens of this project stop verifying then, unless you register another key before.'
      : 'No other key in jwks.json is active after that: verifiers that read it reject all tokens of this project then, unless you register another RSA, EC or OKP key before.'}
  </Text>
)

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
