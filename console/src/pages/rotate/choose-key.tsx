import { Select, Stack, Text } from '@mantine/core'
import type { JwtKey, Project } from '@pubring/client'
import { useMutation } from '@tanstack/react-query'
import { useState } from 'react'
import { ErrorNotice } from '../../components/error-notice.tsx'
import { endOf } from '../../components/ids.ts'
import { withVisibleControls } from '../../components/user-text.tsx'
import { ActionForm } from '../../forms/action-form.tsx'
import { useDraft } from '../../forms/drafts.ts'
import { useRotationStart } from '../../keys/rotations.ts'
import { useSession } from '../../session/context.tsx'
import { KeyForm } from '../project/key-form.tsx'
import { RotationStepper } from './stepper.tsx'
import { TokenLifetimeField, toTokenLifetime } from './token-lifetime.tsx'

/** The first step: registers the new key, or takes one that is registered, and starts the rotation. */
export function ChooseNewKey(props: { project: Project; keys: JwtKey[]; oldKey: JwtKey }) {
  const { project, keys, oldKey } = props
  const [{ minutes }, change] = useDraft(`rotation.${oldKey.id}`, { minutes: '' })
  const tokenLifetime = toTokenLifetime(minutes)
  const missingLifetime = tokenLifetime === undefined && 'the maximum token lifetime'
  const start = useRotationStart(project, { from: oldKey.id, tokenLifetime: tokenLifetime ?? 0 })
  const { withSignIn } = useSession()
  const { mutate, error } = useMutation({ mutationFn: (to: string) => withSignIn(() => start(to)) })
  const [chosen, setChosen] = useState<string | null>(null)
  const candidates = keys.filter(({ id, active }) => active && id !== oldKey.id)
  return (
    <>
      <RotationStepper step={0} />
      <Stack>
        <Text>
          Generate a new key pair where you sign tokens, and register its public key. The old key
          keeps working.
        </Text>
        <TokenLifetimeField value={minutes} onValue={(value) => change({ minutes: value })} />
        {candidates.length > 0 && (
          <ActionForm
            action="Start with this key"
            missing={[chosen === null && 'a key, or a new one below', missingLifetime]}
            request={{
              method: 'POST',
              path: `/projects/${project.id}/rotations`,
              body: { from: oldKey.id, to: chosen ?? 'KID', tokenLifetime: tokenLifetime ?? 0 },
            }}
            run={() => start(chosen ?? '')}
          >
            <Select
              label="Use a key that is already registered"
              placeholder="Choose a key"
              data={candidates.map(({ id, label }) => ({
                value: id,
                label: `${withVisibleControls(label)} (${endOf(id)})`,
              }))}
              value={chosen}
              onChange={setChosen}
              maw={460}
            />
          </ActionForm>
        )}
        {error !== null && <ErrorNotice error={error} />}
        <KeyForm
          projectId={project.id}
          missing={[missingLifetime]}
          onCancel={() => history.back()}
          onRegistered={mutate}
        />
      </Stack>
    </>
  )
}
