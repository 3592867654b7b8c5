import { List, Stack } from '@mantine/core'
import type { JwtKey, JwtKeyWithDetails } from '@pubring/client'
import { Section } from '../../components/section.tsx'
import { exactTime } from '../../components/times.tsx'
import { Fetches, KeyUses } from '../../keys/uses.tsx'
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
    <>
      <Section title="Who rejects it, and by when">
        <KeyUses keys={[{ ...jwtKey, ...jwtKey.details }]} />
        <Obedience cached={`By ${exactTime(jwtKey.details.convergedTime)}`} />
      </Section>
      <Fetches projectId={jwtKey.projectId} />
    </>
  )
}

function IfDeactivated({ jwtKey, activeKeys }: ImpactProps) {
  const emptied = activeKeys && emptiedBy([jwtKey], activeKeys)
  return (
    <Stack gap="xs" fz="sm">
      {emptied !== undefined && <LastActiveWarning emptied={emptied} />}
      <KeyUses keys={[{ ...jwtKey, ...jwtKey.details }]} />
      <Obedience>
        {jwtKey.details.state !== 'compromised' && (
          <List.Item>
            <b>Tokens in flight</b> are rejected too, however new. Pubring sees no tokens: first
            make the signer use another key, and wait for the longest lifetime of a token. A
            rotation does it in this order.
          </List.Item>
        )}
      </Obedience>
    </Stack>
  )
}
