import { Stack, Text } from '@mantine/core'
import { CopyBlock, CopyField } from '../../components/copy.tsx'
import { Countdown } from '../../components/countdown.tsx'
import { QueryResult } from '../../components/states.tsx'
import { clockTime } from '../../components/times.tsx'
import { useKey } from '../../keys/queries.ts'

/** How to use a new key: its kid, the token header, and when verifiers know the key; at once, if it is `urgent`. */
export function NewKeyInstructions(props: {
  projectId: string
  kid: string
  urgent?: boolean
  onConverged?: () => void
}) {
  const { projectId, kid, urgent = false, onConverged } = props
  const query = useKey(projectId, kid)
  return (
    <QueryResult query={query} rows={3}>
      {({ details, updateTime, active }) => (
        <Stack>
          <CopyField label="kid" value={kid} />
          {details.publishedKid !== undefined && (
            <CopyField label="Published kid" value={details.publishedKid} />
          )}
          <div>
            <Text size="sm" mb={6}>
              Set this header in every JWT that you sign with the private key:
            </Text>
            <TokenHeader alg={details.jwsAlgorithm} kid={details.publishedKid ?? kid} />
          </div>
          {details.kty === 'AKP' && (
            <Text size="sm">
              The key is published in jwks-full.json, not in jwks.json: common verifiers reject a
              key set that has an ML-DSA key.
            </Text>
          )}
          {urgent ? (
            <Text size="sm">
              Sign with it now. Verifiers that honor the cache headers know it by{' '}
              {clockTime(details.convergedTime)}.
            </Text>
          ) : active ? (
            <Countdown
              from={updateTime}
              until={details.convergedTime}
              waiting="Wait before you sign: verifiers are still loading the key"
              done="You can sign with it now"
              since="All verifiers that honor the cache headers have known the key since"
              {...(onConverged && { onDone: onConverged })}
            />
          ) : (
            <Text size="sm" c="dimmed">
              The key is inactive. It is not published until you activate it.
            </Text>
          )}
        </Stack>
      )}
    </QueryResult>
  )
}

/** The header of tokens that are signed with a key. */
export function TokenHeader({ alg, kid }: { alg: string; kid: string }) {
  return <CopyBlock value={JSON.stringify({ alg, kid, typ: 'JWT' }, null, 2)} name="JWT header" />
}
