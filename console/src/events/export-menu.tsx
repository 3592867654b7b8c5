import { Button, Menu, Text } from '@mantine/core'
import { IconDownload } from '@tabler/icons-react'
import { useMutation } from '@tanstack/react-query'
import type { Project } from '../../../client/src/index.ts'
import { download } from '../components/download.ts'
import { ErrorNotice } from '../components/error-notice.tsx'
import { useSession } from '../session/context.tsx'
import { eventQuery, type Filter, givenFilters } from './filter.ts'

const formats = [
  { format: 'csv', label: 'CSV, for spreadsheets' },
  { format: 'jsonl', label: 'JSON lines' },
] as const

/** Downloads all events that match the filter, not only those that the page shows. */
export function ExportMenu({ project, filter }: { project: Project | undefined; filter: Filter }) {
  const { client, withSignIn } = useSession()
  const { mutate, isPending, error } = useMutation({
    mutationFn: async (format: 'csv' | 'jsonl') => {
      const ofProject = project === undefined ? {} : { project: project.id }
      await withSignIn(async () => {
        const parts: string[] = []
        const query = { ...eventQuery(filter), ...ofProject, format }
        for await (const part of client.events.export(query)) parts.push(part)
        download(`${project?.name ?? 'system'}-history.${format}`, parts)
      })
    },
  })
  return (
    <div>
      <Menu position="bottom-end">
        <Menu.Target>
          <Button
            variant="default"
            size="xs"
            leftSection={<IconDownload size={15} aria-hidden />}
            loading={isPending}
          >
            {givenFilters(filter).length > 0 ? 'Export what matches' : 'Export all'}
          </Button>
        </Menu.Target>
        <Menu.Dropdown>
          {formats.map(({ format, label }) => (
            <Menu.Item key={format} onClick={() => mutate(format)}>
              {label}
            </Menu.Item>
          ))}
        </Menu.Dropdown>
      </Menu>
      {isPending && (
        <Text size="xs" role="status">
          Exporting…
        </Text>
      )}
      {error !== null && <ErrorNotice error={error} />}
    </div>
  )
}
