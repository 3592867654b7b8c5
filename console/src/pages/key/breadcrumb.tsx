import { Group } from '@mantine/core'
import type { Project } from '@pubring/client'
import { IconChevronRight } from '@tabler/icons-react'
import { TextLink } from '../../components/text-link.tsx'

/** Where a key belongs, as links. */
export function Breadcrumb({ project }: { project: Project }) {
  return (
    <Group component="nav" gap={4} mb={4} fz="sm" aria-label="Breadcrumb">
      <TextLink href={`/projects/${project.id}`}>{project.name}</TextLink>
      <IconChevronRight size={14} aria-hidden />
      <TextLink href={`/projects/${project.id}/keys`}>Keys</TextLink>
    </Group>
  )
}
