import { Button, Group, Modal, Stack } from '@mantine/core'
import { useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import type { Project } from '../../../../client/src/index.ts'
import { KeyForm } from './key-form.tsx'
import { NewKeyInstructions } from './new-key.tsx'

/** Registers a key, then explains how to use it. */
export function RegisterDialog({ project, onClose }: { project: Project; onClose(): void }) {
  const queries = useQueryClient()
  const [kid, setKid] = useState<string>()
  return (
    <Modal
      opened
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
            setKid(registered)
            void queries.invalidateQueries({ queryKey: ['keys', project.id] })
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
    </Modal>
  )
}
