import { Button, Group, Stack, Text } from '@mantine/core'
import { useMutation, useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import type { JwtKey } from '../../../../client/src/index.ts'
import { Countdown } from '../../components/countdown.tsx'
import { CurlHint } from '../../components/curl.tsx'
import { ErrorNotice } from '../../components/error-notice.tsx'
import { LoadingRows } from '../../components/states.tsx'
import { useKey } from '../../keys/queries.ts'
import { useSession } from '../../session/context.tsx'
import { lastTokenTime, type Rotation } from '../../session/rotations.ts'
import { isLastActive, LastActive } from '../project/last-active.tsx'

const pathOf = ({ projectId, id }: JwtKey) => `/projects/${projectId}/jwt-keys/${id}`

function useRetire(jwtKey: JwtKey, run: () => Promise<unknown>) {
  const queries = useQueryClient()
  return useMutation({
    mutationFn: run,
    onSuccess: () => queries.invalidateQueries({ queryKey: ['keys', jwtKey.projectId] }),
  })
}

/** Where the new key is not published yet: verifiers cannot learn it. */
export function SwitchOn({ jwtKey }: { jwtKey: JwtKey }) {
  const { client } = useSession()
  const on = useRetire(jwtKey, () =>
    client.keys.update(jwtKey.projectId, jwtKey.id, { active: true }),
  )
  return (
    <Stack mt="md">
      {on.isError && <ErrorNotice error={on.error} />}
      <CurlHint method="PATCH" path={pathOf(jwtKey)} body={{ active: true }} />
      <Group justify="flex-end">
        <Button loading={on.isPending} onClick={() => on.mutate()}>
          Switch on the new key
        </Button>
      </Group>
    </Stack>
  )
}

/** The step that ends the trust in the old key. */
export function SwitchOff(props: { jwtKey: JwtKey; keys: JwtKey[]; rotation: Rotation }) {
  const { jwtKey, keys, rotation } = props
  const { client } = useSession()
  const off = useRetire(jwtKey, () =>
    client.keys.update(jwtKey.projectId, jwtKey.id, { active: false }),
  )
  const [, look] = useState(0)
  const lastToken = lastTokenTime(rotation)
  const early = lastToken !== undefined && Date.parse(lastToken) > Date.now()
  return (
    <Stack>
      <Text>
        Tokens that “{jwtKey.label}” signed verify until they expire, as long as it is on. Wait for
        the last of them, then switch it off. It can be switched on again if something was
        forgotten.
      </Text>
      {rotation.switchTime !== undefined && lastToken !== undefined && (
        <Countdown
          from={rotation.switchTime}
          until={lastToken}
          waiting="Tokens of the old key are still good"
          done="The last token of the old key has expired"
          since="By what you said of their life, it was good until"
          onDone={() => look(Date.now())}
        />
      )}
      {isLastActive(jwtKey, keys) && <LastActive />}
      {off.isError && <ErrorNotice error={off.error} />}
      <CurlHint method="PATCH" path={pathOf(jwtKey)} body={{ active: false }} />
      <Group justify="flex-end">
        <Button color="red.8" loading={off.isPending} onClick={() => off.mutate()}>
          {early ? 'Switch off without waiting' : 'Switch off the old key'}
        </Button>
      </Group>
    </Stack>
  )
}

/** The last step: the old key goes for good. */
export function Deletion({ jwtKey }: { jwtKey: JwtKey }) {
  const { client } = useSession()
  const key = useKey(jwtKey.projectId, jwtKey.id)
  const [, look] = useState(0)
  const deletion = useRetire(jwtKey, () => client.keys.delete(jwtKey.projectId, jwtKey.id))
  if (key.isPending) return <LoadingRows rows={2} />
  if (key.isError) return <ErrorNotice error={key.error} retry={() => void key.refetch()} />
  const { convergedTime } = key.data.details
  const early = Date.parse(convergedTime) > Date.now()
  return (
    <Stack>
      <Countdown
        from={key.data.updateTime}
        until={convergedTime}
        waiting="Verifiers are still forgetting it"
        done="Verifiers have forgotten it"
        since="Every verifier that honours the cache headers has known it since"
        onDone={() => look(Date.now())}
      />
      <Text>
        Keep the key, switched off, as long as you may want it back; delete it when nothing needs
        it. Its history stays in the ledger.
      </Text>
      {deletion.isError && <ErrorNotice error={deletion.error} />}
      <CurlHint method="DELETE" path={pathOf(jwtKey)} />
      <Group justify="flex-end">
        <Button
          color="red.8"
          disabled={early}
          loading={deletion.isPending}
          onClick={() => deletion.mutate()}
        >
          Delete the old key
        </Button>
      </Group>
    </Stack>
  )
}
