import { Anchor, Group } from '@mantine/core'
import type { Project } from '@pubring/client'
import { IconChevronRight } from '@tabler/icons-react'
import { Link } from 'wouter'

/** Where a key belongs, as links. */
export function Breadcrumb({ project }: { project: Project }) {
  return (
    <Group component="nav" gap={4} mb={4} aria-label="Breadcrumb">
      <Anchor component={Link} href={`/projects/${project.id}`} size="sm">
        {project.name}
      </Anchor>
      <IconChevronRight size={14} aria-hidden />
      <Anchor component={Link} href={`/projects/${project.id}/keys`} size="sm">
        Keys
      </Anchor>
    </Group>
  )
}
