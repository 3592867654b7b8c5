import { Button, Text } from '@mantine/core'
import type { Project } from '@pubring/client'
import { IconDownload } from '@tabler/icons-react'
import { useMutation } from '@tanstack/react-query'
import { download } from '../components/download.ts'
import { ErrorNotice } from '../components/error-notice.tsx'
import { useSession } from '../session/context.tsx'
import { eventQuery, type Filter, givenFilters } from './filter.ts'

/** Downloads all events that match the filter as JSON lines, not only those that the page shows. */
export function ExportButton({
  project,
  filter,
}: {
  project: Project | undefined
  filter: Filter
}) {
  const { client, withSignIn } = useSession()
  const { mutate, isPending, error } = useMutation({
    mutationFn: async () => {
      const ofProject = project === undefined ? {} : { project: project.id }
      await withSignIn(async () => {
        const parts: string[] = []
        const query = { ...eventQuery(filter), ...ofProject }
        for await (const part of client.events.export(query)) parts.push(part)
        download(`${project?.name ?? 'system'}-history.jsonl`, parts)
      })
    },
  })
  return (
    <div>
      <Button
        variant="default"
        size="xs"
        leftSection={<IconDownload size={15} aria-hidden />}
        loading={isPending}
        onClick={() => mutate()}
      >
        {givenFilters(filter).length > 0 ? 'Export what matches' : 'Export all'}
      </Button>
      {isPending && (
        <Text size="xs" role="status">
          Exporting…
        </Text>
      )}
      {error !== null && <ErrorNotice error={error} />}
    </div>
  )
}
