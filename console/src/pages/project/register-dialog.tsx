import { Button, Group, Stack } from '@mantine/core'
import type { Project } from '@pubring/client'
import { Dialog } from '../../components/dialog.tsx'
import { useKeyRefresh } from '../../keys/refresh.ts'
import { KeyForm } from './key-form.tsx'
import { NewKeyInstructions } from './new-key.tsx'

/** Registers a key, then explains how to use the key `kid`. */
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
