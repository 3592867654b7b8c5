import { Button, Group, Stack, Text } from '@mantine/core'
import type { Project } from '@pubring/client'
import { CopyBlock, CopyField } from '../../components/copy.tsx'
import { NewKeyCountdown } from '../../components/countdown.tsx'
import { Dialog } from '../../components/dialog.tsx'
import { QueryResult } from '../../components/states.tsx'
import { clockTime } from '../../components/text.tsx'
import { useKeyRefresh } from '../../keys/live.ts'
import { useKey } from '../../keys/queries.ts'
import { KeyForm } from './key-form.tsx'

/** How to use a new key: its kid, the token header, and when verifiers know the key; at once, if it is `urgent`. */
export function NewKeyInstructions(props: { projectId: string; kid: string; urgent?: boolean }) {
  const { projectId, kid, urgent = false } = props
  const query = useKey(projectId, kid)
  return (
    <QueryResult query={query} rows={3}>
      {({ active, details, updateTime }) => (
        <Stack>
          <CopyField label="kid" value={kid} />
          {details.publishedKid !== undefined && (
            <CopyField label="Published kid" value={details.publishedKid} />
          )}
          <div>
            <Text mb={6}>Set this header in every JWT that you sign with the private key:</Text>
            <TokenHeader alg={details.jwsAlgorithm} kid={details.publishedKid ?? kid} />
          </div>
          {details.kty === 'AKP' && (
            <Text>
              The key is published in jwks-full.json, not in jwks.json: common verifiers reject a
              key set that has an ML-DSA key.
            </Text>
          )}
          {urgent ? (
            <Text>
              Sign with it now. Verifiers that honor the cache headers know it by{' '}
              {clockTime(details.convergedTime)}.
            </Text>
          ) : active ? (
            <NewKeyCountdown updateTime={updateTime} details={details} />
          ) : (
            <Text c="dimmed">The key is inactive. It is not published until you activate it.</Text>
          )}
        </Stack>
      )}
    </QueryResult>
  )
}

export const TokenHeader = ({ alg, kid }: { alg: string; kid: string }) => (
  <CopyBlock value={JSON.stringify({ alg, kid, typ: 'JWT' }, null, 2)} name="JWT header" />
)

export function RegisterDialog(props: {
  project: Project
  kid: string | undefined
  onRegistered(kid: string): void
  onClose(): void
}) {
  const { project, kid, onRegistered, onClose } = props
  const refresh = useKeyRefresh(project.id)
  return (
    <Dialog
      onClose={onClose}
      title={kid === undefined ? 'Register a key' : 'Key registered'}
      size="xl"
      centered={false}
    >
      {kid === undefined ? (
        <KeyForm
          projectId={project.id}
          onCancel={onClose}
          onRegistered={(registered) => {
            onRegistered(registered)
            void refresh([registered])
          }}
        />
      ) : (
        <Stack>
          <NewKeyInstructions projectId={project.id} kid={kid} />
          <Group justify="flex-end">
            <Button onClick={onClose} data-autofocus>
              Done
            </Button>
          </Group>
        </Stack>
      )}
    </Dialog>
  )
}
