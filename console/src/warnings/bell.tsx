import { ActionIcon, Indicator, Menu, Text } from '@mantine/core'
import type { Warning } from '@pubring/client'
import { IconAlertTriangle, IconBell, IconInfoCircle } from '@tabler/icons-react'
import { useQueryClient } from '@tanstack/react-query'
import { useEffect } from 'react'
import { Link } from 'wouter'
import { withVisibleControls } from '../components/user-text.tsx'
import { placeOf } from './places.ts'
import { textOf, useWarnings } from './project-warnings.tsx'

/** Warnings that are listed; the rest are counted. */
const maxListed = 20

/** The number of warnings, and a list of them, each of which leads to where it is mended. */
export function WarningBell() {
  const { data: warnings = [], isError } = useWarnings()
  const queries = useQueryClient()
  useEffect(() => {
    const refresh = () => void queries.refetchQueries({ queryKey: ['warnings'], stale: true })
    addEventListener('hashchange', refresh)
    return () => removeEventListener('hashchange', refresh)
  }, [queries])
  const { length } = warnings
  const name = length === 0 ? 'No warnings' : length === 1 ? '1 warning' : `${length} warnings`
  const isCritical = warnings.some(({ severity }) => severity === 'critical')
  return (
    <Menu position="bottom-end" width={380}>
      <Indicator
        label={length > 99 ? '99+' : length}
        disabled={length === 0}
        size={17}
        offset={4}
        color={isCritical ? 'red.8' : 'orange.9'}
        inline
      >
        <Menu.Target>
          <ActionIcon variant="default" size="lg" aria-label={name}>
            <IconBell size={18} />
          </ActionIcon>
        </Menu.Target>
      </Indicator>
      <Menu.Dropdown className="warning-list">
        {length > 0 && <Menu.Label>{name}</Menu.Label>}
        {length === 0 && (
          <Menu.Item disabled>
            {isError ? 'The warnings could not be loaded' : 'Nothing needs attention'}
          </Menu.Item>
        )}
        {warnings.slice(0, maxListed).map((warning) => (
          <WarningItem key={JSON.stringify(warning)} warning={warning} />
        ))}
        {length > maxListed && (
          <Menu.Item component={Link} href="/">
            {length - maxListed} more: the projects show which of them break first
          </Menu.Item>
        )}
      </Menu.Dropdown>
    </Menu>
  )
}

function WarningItem({ warning }: { warning: Warning }) {
  const { severity, label, projectName } = warning
  const Icon = severity === 'info' ? IconInfoCircle : IconAlertTriangle
  const subject = [label, projectName].filter((each) => each !== undefined).join(' · ')
  return (
    <Menu.Item
      component={Link}
      href={placeOf(warning)}
      leftSection={
        <Icon size={18} aria-hidden {...(severity === 'critical' && { className: 'warning' })} />
      }
    >
      {subject !== '' && (
        <Text size="sm" fw={600} style={{ overflowWrap: 'anywhere' }}>
          {withVisibleControls(subject)}
        </Text>
      )}
      <Text size="sm" style={{ overflowWrap: 'anywhere' }}>
        {textOf(warning)}
      </Text>
    </Menu.Item>
  )
}
