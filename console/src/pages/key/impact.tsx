import { Anchor, List } from '@mantine/core'
import type { JwtKey, JwtKeyWithDetails } from '@pubring/client'
import { Link } from 'wouter'
import { Section } from '../../components/section.tsx'
import { exactTime } from '../../components/times.tsx'
import { useApi } from '../../session/api.ts'
import { readKeySetMaxAge } from '../../session/client.ts'
import { emptiedBy, LastActiveWarning } from '../project/last-active.tsx'
import { Obedience } from '../project/revocation.tsx'

type ImpactProps = { jwtKey: JwtKeyWithDetails; activeKeys: JwtKey[] | undefined }

/** Who stops verifying, and when, if the key is deactivated; or when they did. */
export function Impact({ jwtKey, activeKeys }: ImpactProps) {
  return jwtKey.active ? (
    <Section title="If you deactivate it">
      <IfDeactivated jwtKey={jwtKey} activeKeys={activeKeys} />
    </Section>
  ) : (
    <Section title="Who rejects it, and by when">
      <List size="sm" spacing="xs">
        <Obedience cached={`By ${exactTime(jwtKey.details.convergedTime)}`} />
      </List>
    </Section>
  )
}

function IfDeactivated({ jwtKey, activeKeys }: ImpactProps) {
  const maxAge = useMaxAge(jwtKey.projectId)
  return (
    <List size="sm" spacing="xs">
      {activeKeys !== undefined && <List.Item>{remaining(jwtKey, activeKeys)}</List.Item>}
      <Obedience
        cached={maxAge === undefined ? 'When their copy expires' : `Within ${maxAge + 1} s`}
      />
      {jwtKey.details.state !== 'compromised' && (
        <List.Item>
          <b>Tokens in flight</b> are rejected too, however new. Pubring sees no tokens: first make
          the signer use another key, and wait for the longest lifetime of a token.{' '}
          <Anchor
            component={Link}
            href={`/projects/${jwtKey.projectId}/rotate/${jwtKey.id}`}
            underline="always"
            inherit
          >
            A rotation
          </Anchor>{' '}
          does it in this order.
        </List.Item>
      )}
    </List>
  )
}

function remaining(jwtKey: JwtKey, activeKeys: JwtKey[]) {
  const emptied = emptiedBy([jwtKey], activeKeys)
  if (emptied !== undefined) return <LastActiveWarning emptied={emptied} />
  const others = activeKeys.filter(({ id }) => id !== jwtKey.id).length
  return (
    <>
      <b>{others === 1 ? '1 other key stays' : `${others.toLocaleString()} other keys stay`}</b>{' '}
      active, and tokens signed with {others === 1 ? 'it' : 'them'} verify as before.
    </>
  )
}

/** For how long verifiers may keep the key set; undefined while it is not known. */
function useMaxAge(projectId: string): number | undefined {
  return useApi(['max-age', projectId], (_client, signal) => readKeySetMaxAge(projectId, signal))
    .data
}
