import { Stack, Text } from '@mantine/core'
import { CopyBlock, CopyField } from '../../components/copy.tsx'
import { Countdown } from '../../components/countdown.tsx'
import { ErrorNotice } from '../../components/error-notice.tsx'
import { LoadingRows } from '../../components/states.tsx'
import { useKey } from '../../keys/queries.ts'

/** What to do with a new key: its kid, where it goes, and from when on. */
export function Registered(props: { projectId: string; kid: string; onKnown?: () => void }) {
  const { projectId, kid, onKnown } = props
  const key = useKey(projectId, kid)
  if (key.isError) return <ErrorNotice error={key.error} retry={() => void key.refetch()} />
  if (key.isPending) return <LoadingRows rows={3} />
  const { details, updateTime, active } = key.data
  const header = JSON.stringify({ alg: details.jwsAlgorithm, kid, typ: 'JWT' }, null, 2)
  return (
    <Stack>
      <CopyField label="kid" value={kid} />
      <div>
        <Text size="sm" mb={6}>
          Put the kid into the header of every JWT that you sign with the private half:
        </Text>
        <CopyBlock value={header} what="JWT header" />
      </div>
      {active ? (
        <Countdown
          from={updateTime}
          until={details.convergedTime}
          waiting="Wait before you sign with it: verifiers are still learning it"
          done="You may sign with it now"
          since="Every verifier that honours the cache headers has known it since"
          {...(onKnown && { onDone: onKnown })}
        />
      ) : (
        <Text size="sm" c="dimmed">
          It was registered switched off: it is not published until you switch it on.
        </Text>
      )}
    </Stack>
  )
}
