"""Descriptions of robots for tests."""

ARM = """<?xml version="1.0"?>
<robot name="arm">
  <material name="grey"><color rgba="0.5 0.5 0.5 1"/></material>
  <link name="base"/>
  <link name="upper">
    <inertial>
      <origin xyz="0.01 -0.02 0.2" rpy="0.1 0.2 -0.3"/>
      <mass value="2.5"/>
      <inertia ixx="0.03" iyy="0.028" izz="0.006" ixy="0.001" ixz="-0.002" iyz="0.0005"/>
    </inertial>
    <visual><origin xyz="0 0 0.2"/><geometry><cylinder radius="0.04" length="0.4"/></geometry></visual>
    <collision><geometry><mesh filename="package://arm/upper.stl"/></geometry></collision>
  </link>
  <link name="lower">
    <inertial>
      <origin xyz="0 0.05 0.15"/>
      <mass value="1.5"/>
      <inertia ixx="0.012" iyy="0.011" izz="0.002"/>
    </inertial>
    <visual><geometry><box size="0.05 0.05 0.3"/></geometry></visual>
  </link>
  <link name="slider">
    <inertial><mass value="0.4"/><inertia ixx="0.001" iyy="0.001" izz="0.001"/></inertial>
    <visual><geometry><sphere radius="0.03"/></geometry></visual>
  </link>
  <link name="finger">
    <inertial><origin xyz="0.02 0 0"/><mass value="0.1"/><inertia ixx="0.0001" iyy="0.0002" izz="0.00025"/></inertial>
  </link>
  <link name="camera"/>
  <joint name="shoulder" type="revolute">
    <parent link="base"/><child link="upper"/>
    <origin xyz="0 0 0.3" rpy="0 0.3 0"/>
    <axis xyz="0 2 1"/>
    <limit lower="-2" upper="2.2" effort="30" velocity="3"/>
    <dynamics damping="0.4" friction="0.1"/>
  </joint>
  <joint name="elbow" type="continuous">
    <parent link="upper"/><child link="lower"/>
    <origin xyz="0 0 0.4" rpy="0.2 0 0.5"/>
    <axis xyz="1 0 0"/>
  </joint>
  <joint name="wrist" type="prismatic">
    <parent link="lower"/><child link="slider"/>
    <origin xyz="0 0 0.3"/>
    <axis xyz="0 0 1"/>
    <limit lower="-0.1" upper="0.2" effort="10" velocity="1"/>
  </joint>
  <joint name="grip" type="revolute">
    <parent link="slider"/><child link="finger"/>
    <origin xyz="0.03 0 0"/>
    <axis xyz="0 0 1"/>
    <limit lower="-1" upper="1" effort="1" velocity="1"/>
    <mimic joint="elbow" multiplier="0.5" offset="0.1"/>
  </joint>
  <joint name="camera mount" type="fixed">
    <parent link="lower"/><child link="camera"/>
    <origin xyz="0.1 0 0.1" rpy="0 1.5 0"/>
  </joint>
</robot>
"""
